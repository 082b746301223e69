// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/index_dtype.h"

#include <unordered_map>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith::te {
namespace {

using BinaryOperator = Expr (*)(const Expr&, const Expr&);

/// Gives what counts another type: loop variables, axes, and the sizes in shapes and bounds. What
/// is computed from them is converted where it meets a type that stays.
class IndexTypes {
 public:
  IndexTypes(const Ptr<PrimFunc>& func, DataType dtype) : dtype_(dtype) {
    for (const auto& buffer : func->buffer_map) count_sizes(buffer);
    pre_order_visit(func->body, [&](const Ref& ref) {
      if (const auto* loop = ref.as<For>()) {
        count(loop->loop_var);
        for (const Expr& bound : {loop->min, loop->extent, loop->step}) count_in(bound);
      } else if (const auto* block = ref.as<Block>()) {
        for (const auto& axis : block->iter_vars) {
          count(axis->var);
          count_in(axis->dom->min);
          count_in(axis->dom->extent);
        }
        for (const auto& buffer : block->alloc_buffers) count_sizes(buffer);
      }
      return true;
    });
    set_definition_rules();
    set_operator_rules();
    set_access_rules();
  }

  Ptr<PrimFunc> operator()(const Ptr<PrimFunc>& func) { return rewrite_(func); }

 private:
  void count(const Ptr<Var>& variable) {
    if (!variable->dtype.is_integer() || variable->dtype == dtype_) return;
    Ptr<Var>& fresh = renewed_[variable];
    if (fresh) return;
    Var copy = *variable;
    copy.dtype = dtype_;
    fresh = make(std::move(copy));
  }
  void count_in(const Expr& size) {
    for (const Ptr<Var>& variable : free_variables(size)) count(variable);
  }
  void count_sizes(const Ptr<Buffer>& buffer) {
    if (!buffer) return;
    for (const Expr& extent : buffer->shape) count_in(extent);
    for (const Expr& stride : buffer->strides) count_in(stride);
    if (buffer->elem_offset.defined()) count_in(buffer->elem_offset);
  }

  Ref renewed(const Ref& variable) const {
    const auto found = renewed_.find(variable);
    return found == renewed_.end() ? variable : Ref(found->second);
  }
  Expr as_index(const Expr& expr) { return cast(dtype_.with_lanes(expr.dtype().lanes), expr); }

  void set_definition_rules() {
    rewrite_.on_definition([this](const Ref& definition) -> Ref {
      if (definition.is<Var>()) return renewed(definition);
      Buffer copy = *definition.as<Buffer>();
      for (Expr& extent : copy.shape) extent = as_index(extent);
      for (Expr& stride : copy.strides) stride = as_index(stride);
      if (copy.elem_offset.defined()) copy.elem_offset = as_index(copy.elem_offset);
      return make(std::move(copy));
    });
    rewrite_.on<Var>([this](const Var& variable) -> Ref { return renewed(Ref(&variable)); });
    rewrite_.on<Range>([this](const Range& node) -> Ref {
      return range(as_index(rewrite_(node.min)), as_index(rewrite_(node.extent)));
    });
  }

  template <class T>
  void on_operator(BinaryOperator combine) {
    rewrite_.on<T>([this, combine](const T& node) -> Expr {
      const Expr a = rewrite_(node.a);
      const Expr b = rewrite_(node.b);
      const bool is_same = a.same_as(node.a) && b.same_as(node.b);
      return is_same ? Expr(Ptr<T>(&node)) : combine(a, b);
    });
  }

  void set_operator_rules() {
    on_operator<Add>(loopsmith::operator+);
    on_operator<Sub>(loopsmith::operator-);
    on_operator<Mul>(loopsmith::operator*);
    on_operator<FloorDiv>(floordiv);
    on_operator<FloorMod>(floormod);
    on_operator<Mod>(truncmod);
    on_operator<Min>(min);
    on_operator<Max>(max);
    on_operator<EQ>(loopsmith::operator==);
    on_operator<NE>(loopsmith::operator!=);
    on_operator<LT>(loopsmith::operator<);
    on_operator<LE>(loopsmith::operator<=);
    on_operator<GT>(loopsmith::operator>);
    on_operator<GE>(loopsmith::operator>=);
    on_operator<Div>([](const Expr& a, const Expr& b) {
      return a.dtype().is_integer() ? truncdiv(a, b) : a / b;
    });
    rewrite_.on<Cast>([this](const Cast& node) { return cast(node.dtype, rewrite_(node.value)); });
    rewrite_.on<Select>([this](const Select& node) {
      return select(rewrite_(node.condition), rewrite_(node.true_value),
                    rewrite_(node.false_value));
    });
    rewrite_.on<Ramp>([this](const Ramp& node) -> Expr {
      auto [base, stride] = match_types(rewrite_(node.base), rewrite_(node.stride));
      return make(Ramp{.base = base, .stride = stride, .lanes = node.lanes});
    });
    rewrite_.on<Let>([this](const Let& node) -> Expr {
      return make(Let{.value = cast(node.var->dtype, rewrite_(node.value)),
                      .var = node.var,
                      .body = rewrite_(node.body)});
    });
    rewrite_.on<Call>([this](const Call& node) -> Expr {
      if (node.op == op("if_then_else")) {
        return if_then_else(rewrite_(node.args[0]), rewrite_(node.args[1]), rewrite_(node.args[2]));
      }
      Call copy = node;
      for (Expr& argument : copy.args) argument = kept_type(argument);
      return make(std::move(copy));
    });
  }

  void set_access_rules() {
    rewrite_.on<BufferLoad>([this](const BufferLoad& node) -> Expr {
      BufferLoad copy = node;
      copy.buffer = rewrite_.buffer(node.buffer);
      for (Expr& index : copy.indices) index = as_index(rewrite_(index));
      copy.predicate = rewrite_(node.predicate);
      return make(std::move(copy));
    });
    rewrite_.on<BufferStore>([this](const BufferStore& node) -> Stmt {
      BufferStore copy = node;
      copy.buffer = rewrite_.buffer(node.buffer);
      copy.value = kept_type(node.value);
      for (Expr& index : copy.indices) index = as_index(rewrite_(index));
      copy.predicate = rewrite_(node.predicate);
      return make(std::move(copy));
    });
    rewrite_.on<LetStmt>([this](const LetStmt& node) -> Stmt {
      return make(LetStmt{.value = cast(node.var->dtype, rewrite_(node.value)),
                          .var = node.var,
                          .body = rewrite_(node.body)});
    });
    rewrite_.on<BlockRealize>([this](const BlockRealize& node) -> Stmt {
      BlockRealize copy = node;
      for (Expr& value : copy.iter_values) value = as_index(rewrite_(value));
      copy.predicate = rewrite_(node.predicate);
      copy.block = rewrite_(node.block);
      return make(std::move(copy));
    });
  }

  /// The rewritten expression, of the type that it had.
  Expr kept_type(const Expr& expr) {
    const Expr fresh = rewrite_(expr);
    return fresh.dtype() == expr.dtype() ? fresh : cast(expr.dtype(), fresh);
  }

  DataType dtype_;
  Rewriter rewrite_;
  std::unordered_map<Ref, Ptr<Var>, RefHash, RefEqual> renewed_;
};

}  // namespace

Ptr<PrimFunc> with_index_dtype(const Ptr<PrimFunc>& func, DataType dtype) {
  require(dtype == i32 || dtype == i64, ErrorKind::type_mismatch, "index_is_int32_or_int64",
          hint("choose int32 or int64"), func.span(), "create_prim_func: indices cannot be {}",
          to_string(dtype));
  return IndexTypes(func, dtype)(func);
}

}  // namespace loopsmith::te
