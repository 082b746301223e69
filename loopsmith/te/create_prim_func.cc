// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/create_prim_func.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/ir/declare_buffers.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te/index_dtype.h"
#include "loopsmith/te/lower_ops.h"

namespace loopsmith::te {
namespace {

/// The tensors among the arguments. Anything but a tensor or a scalar variable is refused.
std::vector<Tensor> tensors_among(const std::vector<Ref>& args) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const bool is_tensor = args[i].is<loopsmith::Tensor>();
    const auto* variable = args[i].as<Var>();
    require(is_tensor || (variable && !variable->dtype.is_handle()), ErrorKind::type_mismatch,
            "argument_is_tensor_or_variable", hint("list tensors and scalar variables"),
            current_span, "create_prim_func: argument {} is neither a tensor nor a variable", i);
    for (std::size_t j = 0; j < i; ++j) {
      require(!args[i].same_as(args[j]), ErrorKind::user, "argument_occurs_once",
              hint("list it once"), current_span,
              "create_prim_func: arguments {} and {} are the same", j, i);
    }
    if (is_tensor) tensors.emplace_back(Ptr<loopsmith::Tensor>::from(args[i]));
  }
  return tensors;
}

/// The arguments' operations and `results`, with all that they depend on.
std::vector<Ref> computed_operations(std::vector<Tensor> wanted, const MoreResults& results) {
  for (const Ref& op : results) {
    for (std::size_t i = 0; i < output_count(op); ++i) wanted.push_back(output(op, i));
  }
  return post_order(wanted);
}

/// Which scan each operation belongs to: those that read the state, directly or not, run in its
/// loop.
class ScanMembers {
 public:
  explicit ScanMembers(const std::vector<Ref>& order) {
    for (const Ref& op : order) {
      const auto* scan = op.as<ScanOp>();
      if (!scan) continue;
      for (const auto& state : scan->state_placeholder) owner_[state->op.get()] = scan;
    }
    for (const Ref& op : order) assign(op);
  }

  /// The scan in whose loop `op` runs; nullptr for all that runs outside.
  const ScanOp* owner(const Ref& op) const {
    const auto found = owner_.find(op.get());
    return found == owner_.end() ? nullptr : found->second;
  }
  const std::vector<Ptr<ComputeOp>>& members(const ScanOp* scan) { return members_[scan]; }

 private:
  void assign(const Ref& op) {
    for (const Tensor& input : input_tensors(op)) {
      const ScanOp* scan = owner(input->op);
      if (!scan || op.as<ScanOp>() == scan) continue;
      const ScanOp*& own = owner_[op.get()];
      require(op.is<ComputeOp>() && (!own || own == scan), ErrorKind::user, "scan_step_is_compute",
              hint("compute each step with te.compute, from one scan's state"), current_span,
              "scan {}: operation {} reads its state, but is no compute of this scan alone",
              scan->name, name_of(op));
      own = scan;
    }
    const ScanOp* own = owner(op);
    if (own && op.is<ComputeOp>()) members_[own].push_back(Ptr<ComputeOp>::from(op));
  }

  std::unordered_map<const Object*, const ScanOp*> owner_;
  std::unordered_map<const ScanOp*, std::vector<Ptr<ComputeOp>>> members_;
};

/// Builds the parameters, then the body, of one function.
class FunctionBuilder {
 public:
  explicit FunctionBuilder(const std::vector<Ref>& args, const MoreResults& results = {})
      : args_(args),
        tensors_(tensors_among(args)),
        order_(computed_operations(tensors_, results)),
        members_(order_) {}

  Ptr<PrimFunc> build() {
    make_parameters();
    share_state_buffers();
    std::vector<Stmt> body;
    for (const Ref& op : order_) body.push_back(lower(op));
    require_definitions();
    return infer_regions(function_of(seq(std::move(body))));
  }
  void set_given(GraphBuffers given) { buffers_.set_given(std::move(given)); }
  BlocksOfOps take_blocks() { return std::move(context_.blocks); }

 private:
  void make_parameters() {
    for (const Ref& arg : args_) {
      const Tensor tensor(Ptr<loopsmith::Tensor>::from(arg));
      if (!tensor.defined()) {
        params_.push_back(Ptr<Var>::from(arg));
        buffers_of_params_.emplace_back();
        continue;
      }
      const SpanScope scope(arg.span());
      params_.push_back(var("var_" + tensor.name(), handle_type));
      buffers_of_params_.push_back(buffer_of(tensor));
      buffers_.set(tensor, buffers_of_params_.back());
    }
  }

  /// The buffer that the caller's array is seen as.
  Ptr<Buffer> buffer_of(const Tensor& tensor) const {
    for (const auto& [bound, buffer] : buffers_.given().bound) {
      if (bound == tensor) return buffer;
    }
    return decl_buffer(tensor.shape(), tensor.dtype(), tensor.name());
  }

  /// Computes that only make the first rows, or the next row, of a state write where it lives.
  void share_state_buffers() {
    std::unordered_map<const Object*, int> readers;
    for (const Ref& op : order_) {
      for (const Tensor& input : input_tensors(op)) ++readers[input->op.get()];
    }
    for (const Ref& op : order_) {
      const auto* scan = op.as<ScanOp>();
      if (!scan) continue;
      for (std::size_t i = 0; i < scan->update.size(); ++i) {
        const Ptr<Buffer> state = buffers_.get(output(op, i));
        buffers_.set(scan->state_placeholder[i], state);
        const bool reads_in_loop = members_.owner(scan->update[i]->op) == scan;
        if (reads_in_loop && scan->update[i]->op.is<ComputeOp>()) {
          buffers_.set_if_new(scan->update[i], state);
        }
        const Ref& init = scan->init[i]->op;
        if (init.is<ComputeOp>() && output_count(init) == 1 && readers[init.get()] == 1) {
          buffers_.set_if_new(scan->init[i], state);
        }
      }
    }
  }

  Stmt lower(const Ref& op) {
    const SpanScope scope(op.span());
    const ScanOp* owner = members_.owner(op);
    if (op.is<PlaceholderOp>()) {
      const Tensor tensor = output(op, 0);
      require(owner || buffers_.is_known(tensor), ErrorKind::user, "placeholder_is_argument",
              hint("add it to the arguments"), op.span(),
              "create_prim_func: placeholder {} is read but is not among the arguments",
              name_of(op));
      return no_op();
    }
    if (owner) return no_op();  // It runs in the loop of its scan.
    if (op.is<ComputeOp>()) return defined_by(op, lower_compute(*op.as<ComputeOp>(), op, context_));
    if (op.is<ExternOp>()) return defined_by(op, lower_extern(*op.as<ExternOp>(), op, context_));
    return defined_by(
        op, lower_scan(Ptr<ScanOp>::from(op), members_.members(op.as<ScanOp>()), context_));
  }

  Stmt defined_by(const Ref& op, Stmt stmt) {
    statements_.emplace_back(op, stmt);
    return stmt;
  }

  /// Each tensor that is to be returned was computed, and each variable has a value.
  void require_definitions() {
    for (const Tensor& tensor : tensors_) {
      const ScanOp* scan = members_.owner(tensor->op);
      require(!scan, ErrorKind::user, "state_stays_in_scan", hint("use the tensor that scan gave"),
              tensor->op.span(),
              "create_prim_func: {} exists only inside scan {}, it cannot be an argument",
              tensor.name(), scan ? scan->name : "");
    }
    std::unordered_set<const Object*> defined;
    for (std::size_t i = 0; i < params_.size(); ++i) {
      defined.insert(params_[i].get());
      if (!buffers_of_params_[i]) continue;
      // A size that stands alone in a shape is what the caller's array has there.
      for (const Expr& extent : buffers_of_params_[i]->shape) defined.insert(extent.get());
    }
    const PrimFunc header{.params = params_, .buffer_map = buffers_of_params_};
    for (const SolvedSize& size : solved_sizes(header)) defined.insert(size.variable.get());
    for (const auto& [op, stmt] : statements_) require_defined(name_of(op), op, stmt, defined);
    for (const auto& buffer : buffers_of_params_) {
      if (!buffer) continue;
      for (const Expr& extent : buffer->shape) {
        require_defined(buffer->name, Ref(buffer), extent, defined);
      }
    }
  }

  static void require_defined(std::string_view user, const Ref& where, const Ref& root,
                              const std::unordered_set<const Object*>& defined) {
    for (const Ptr<Var>& variable : free_variables(root)) {
      require(defined.contains(variable.get()) || variable->dtype.is_handle(), ErrorKind::user,
              "variable_is_defined",
              hint("reduce over it, or add the variable or a tensor of that size to the arguments"),
              where.span(), "create_prim_func: {} uses variable {}, which nothing defines", user,
              variable->name);
    }
  }

  Ptr<PrimFunc> function_of(Stmt body) {
    const auto root =
        make(Block{.name_hint = "root", .alloc_buffers = buffers_.made(), .body = body});
    const bool is_bare = root->alloc_buffers.empty() && is_block_without_axes(body);
    const Stmt whole = is_bare ? body : Stmt(make(BlockRealize{.block = root}));
    Attrs attrs{{"global_symbol", string_imm("main")}, {"tir.noalias", Expr(true)}};
    if (!context_.layout_free.empty()) {
      attrs = attrs.with("layout_free_buffers", layout_free_indices());
    }
    const auto func = make(PrimFunc{.params = params_,
                                    .buffer_map = buffers_of_params_,
                                    .attrs = std::move(attrs),
                                    .body = whole});
    // The statement of an extern may allocate memory of its own.
    const auto is_extern = [](const Ref& op) { return op.is<ExternOp>(); };
    return std::ranges::any_of(order_, is_extern) ? declare_buffers(func) : func;
  }

  static bool is_block_without_axes(const Stmt& body) {
    const auto* realize = body.as<BlockRealize>();
    return realize && realize->iter_values.empty();
  }

  Ref layout_free_indices() {
    List list;
    for (const Tensor& tensor : context_.layout_free) {
      const Ptr<Buffer> buffer = buffers_.get(tensor);
      for (std::size_t i = 0; i < buffers_of_params_.size(); ++i) {
        if (buffers_of_params_[i].same_as(buffer)) {
          list.items.emplace_back(int_imm(i32, static_cast<std::int64_t>(i)));
        }
      }
    }
    return make(std::move(list));
  }

  const std::vector<Ref>& args_;
  std::vector<Tensor> tensors_;
  std::vector<Ref> order_;
  ScanMembers members_;
  LowerContext context_;
  BufferTable& buffers_ = context_.buffers;
  std::vector<Ptr<Var>> params_;
  std::vector<Ptr<Buffer>> buffers_of_params_;
  std::vector<std::pair<Ref, Stmt>> statements_;
};

}  // namespace

Ptr<PrimFunc> create_prim_func(const std::vector<Ref>& args, const PrimFuncOptions& options) {
  const Ptr<PrimFunc> func = FunctionBuilder(args).build();
  return options.index_dtype.is_void() ? func : with_index_dtype(func, options.index_dtype);
}

NamedPrimFunc create_named_prim_func(const std::vector<Ref>& args, GraphBuffers buffers,
                                     const MoreResults& results) {
  FunctionBuilder builder(args, results);
  builder.set_given(std::move(buffers));
  Ptr<PrimFunc> func = builder.build();
  return {std::move(func), builder.take_blocks()};
}

}  // namespace loopsmith::te
