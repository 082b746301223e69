// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/well_formed.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// What is known of a variable or a buffer that has been defined.
struct Definition {
  bool in_scope = true;
  bool is_thread = false;
  bool is_loop = false;
  int depth = 0;             ///< For loop variables: how many blocks with axes were open.
  const Let* let = nullptr;  ///< The expression that defines it, if one does.
  const PrimFunc* func = nullptr;
};

/// Walks a function in the order in which it runs, with the scopes of its definitions.
class Checker {
 public:
  explicit Checker(Ref root) : root_(std::move(root)) {}

  void function(const PrimFunc& func) {
    func_ = &func;
    const std::size_t scope = open_.size();
    for (const Ptr<Var>& param : func.params) define(param, Role::binds);
    define_sizes(func);
    visit_fields(Ref(&func), 1);
    close(scope);
  }

 private:
  template <class... Args>
  void require_here(bool ok, std::string_view code, Hint hint, const Ref& node,
                    fmt::format_string<Args...> format, Args&&... args) {
    if (ok) return;
    const std::string problem = fmt::vformat(format, fmt::make_format_args(args...));
    const std::string place =
        script(root_, {.header = false, .underline_path = {statement_, node}, .context_lines = 2});
    // The span of a variable or buffer is where it was defined, not where it is used.
    const bool is_use = node.is<Var>() || node.is<Buffer>();
    const bool is_known = node.span().known() && !is_use;
    throw UserError(ErrorKind::user, std::string(code), fmt::format("{}\n{}", problem, place),
                    std::string(hint.text),
                    is_known || !statement_.defined() ? node.span() : statement_.span());
  }

  void visit(const Ref& ref) {
    if (!ref.defined() || ref.is<IntImm>()) return;
    if (ref.is<Var>() || ref.is<Buffer>()) return use(ref);
    // What was checked once, in a place where all that it uses is still in scope, is right.
    const bool shared = ref.get()->count.load(std::memory_order_relaxed) > 1;
    if (shared && Expr::from(ref).defined()) {
      const auto [known, fresh] = checked_.emplace(ref.get(), epoch_);
      if (!fresh && std::exchange(known->second, epoch_) == epoch_) return;
    }
    deep_call([&] { visit_node(ref); });
  }

  void visit_node(const Ref& ref) {
    const Ref outer = statement_;
    if (Stmt::from(ref).defined()) statement_ = ref;
    const std::size_t scope = open_.size();
    if (const auto* loop = ref.as<For>()) {
      visit_loop(*loop);
    } else if (const auto* loop = ref.as<While>()) {
      visit(loop->condition);
      ++loops_;
      visit(loop->body);
      --loops_;
    } else if (const auto* block = ref.as<Block>()) {
      visit_block(ref, *block);
    } else if (ref.is<Break>() || ref.is<Continue>()) {
      require_here(loops_ > 0, "jump_is_in_loop", hint("put it into a loop"), ref,
                   "{}: no loop is around it in the same block",
                   ref.is<Break>() ? "break" : "continue");
    } else if (const auto* let = ref.as<Let>()) {
      visit(let->value);
      add(let->var, {.let = let, .func = func_});
      visit(let->body);
    } else if (const auto* leave = ref.as<Return>()) {
      visit_return(ref, *leave);
    } else {
      visit_fields(ref);
    }
    // What an axis or a view defines is for the node around it.
    if (!ref.is<IterVar>() && !ref.is<MatchBufferRegion>()) close(scope);
    statement_ = outer;
  }

  void visit_fields(const Ref& ref, std::size_t first = 0) {
    const Object& node = *ref.get();
    for (const FieldInfo& field : std::span(node_info(node).fields).subspan(first)) {
      const auto child = [&](const Ref& value) {
        const Role role = field.role_of(value);
        is_definition(role) ? define(value, role, field.role == Role::thread) : visit(value);
      };
      if (field.type == FieldType::ref) {
        child(field.ref(node));
      } else if (field.type == FieldType::refs) {
        for (const Ref& value : field.refs(node)) child(value);
      } else if (field.type == FieldType::attrs) {
        for (const auto& [key, value] : field.at<Attrs>(node)) visit(value);
      }
    }
  }

  void visit_loop(const For& loop) {
    // The bounds are outside the scope of the variable.
    visit(loop.min);
    visit(loop.extent);
    visit(loop.step);
    define_loop_variable(loop.loop_var);
    if (loop.thread_binding) define(loop.thread_binding, Role::binds, true);
    for (const auto& [key, value] : loop.annotations) visit(value);
    ++loops_;
    visit(loop.body);
    --loops_;
  }

  void visit_block(const Ref& ref, const Block& block) {
    // The first field. Domains are read outside the block.
    for (const Ptr<IterVar>& axis : block.iter_vars) define(axis, Role::binds);
    const int inner = block.iter_vars.empty() ? 0 : 1;
    blocks_ += inner;
    epoch_ += inner;
    const int loops = std::exchange(loops_, 0);
    visit_fields(ref, 1);
    loops_ = loops;
    blocks_ -= inner;
    epoch_ += inner;
  }

  void visit_return(const Ref& ref, const Return& leave) {
    visit(leave.value);
    if (!func_) return;
    const DataType type = leave.value.defined() ? leave.value.dtype() : void_type;
    require_here(type == func_->ret_type, "return_has_type_of_function",
                 hint("return a value of the type after ->, or change that type"), ref,
                 "return: the value is {}, the function returns {}", to_string(type),
                 to_string(func_->ret_type));
  }

  void use(const Ref& ref) {
    const auto found = defined_.find(ref.get());
    const std::string_view what = ref.is<Buffer>() ? "buffer" : "variable";
    require_here(found != defined_.end(), "use_of_undefined",
                 hint("define it, or make it a parameter"), ref, "undefined {} {}", what, ref);
    const Definition& definition = found->second;
    require_here(definition.in_scope, "use_outside_scope",
                 hint("move the use into the scope of its definition"), ref,
                 "{} {} is used outside the scope of its definition", what, ref);
    require_here(!definition.is_loop || definition.depth == blocks_, "block_is_isolated",
                 hint("bind the loop variable to an axis of the block, and use that"), ref,
                 "loop variable {} is used inside a block with axes; its loop is outside", ref);
  }

  void define(const Ref& ref, Role role, bool is_thread = false) {
    if (!ref.defined()) return;
    if (const auto* axis = ref.as<IterVar>()) {
      visit(axis->dom);
      return define(axis->var, Role::binds, is_thread);
    }
    if (ref.is<MatchBufferRegion>()) return visit_node(ref);
    if (ref.is<Buffer>()) return define_buffer(Ptr<Buffer>::from(ref), role);
    add(ref, {.is_thread = is_thread, .func = func_});
  }

  void define_loop_variable(const Ref& variable) {
    add(variable, {.is_loop = true, .depth = blocks_, .func = func_});
  }

  void add(const Ref& ref, const Definition& definition) {
    const auto [place, fresh] = defined_.emplace(ref.get(), definition);
    if (!fresh) {
      const Definition& before = place->second;
      const std::string_view what = ref.is<Buffer>() ? "buffer" : "variable";
      require_here(before.func == func_, "functions_share_nothing",
                   hint("give each function variables of its own: clone(func)"), ref,
                   "{} {} is defined in two functions", what, ref);
      // An expression that stands in two places gives its variables the same values there.
      const bool is_shared = before.let && before.let == definition.let && !before.in_scope;
      require_here(
          is_shared || (before.is_thread && definition.is_thread), "defined_once",
          hint("use a new one; clone_with renews the definitions of a body"), ref, "{} of {} {}",
          before.in_scope ? "multiple nested definitions" : "multiple definitions", what, ref);
      if (before.in_scope) return;
      place->second = definition;
    }
    open_.push_back(ref.get());
  }

  /// The pointer, where it is not defined yet, is defined along with the buffer, unless that is a
  /// view; so are the variables of a matched buffer's shape, strides and offset.
  void define_buffer(const Ptr<Buffer>& buffer, Role role) {
    role == Role::views ? use(buffer->data) : define_unless_known(buffer->data);
    const auto part = [&](const Expr& e) {
      if (role == Role::matches && e.is<Var>()) return define_unless_known(e);
      visit(e);
    };
    std::ranges::for_each(buffer->shape, part);
    std::ranges::for_each(buffer->strides, part);
    part(buffer->elem_offset);
    add(buffer, {.func = func_});
  }

  /// Parameters may mention sizes that later ones define.
  void define_sizes(const PrimFunc& func) {
    for (const Ptr<Buffer>& buffer : func.buffer_map) {
      if (!buffer) continue;
      for (const auto* parts : {&buffer->shape, &buffer->strides}) {
        for (const Expr& part : *parts) {
          if (part.is<Var>()) define_unless_known(part);
        }
      }
      if (buffer->elem_offset.is<Var>()) define_unless_known(buffer->elem_offset);
    }
    for (const SolvedSize& size : solved_sizes(func)) define_unless_known(size.variable);
  }

  void define_unless_known(const Ref& variable) {
    defined_.contains(variable.get()) ? use(variable) : define(variable, Role::binds);
  }

  void close(std::size_t scope) {
    if (open_.size() > scope) ++epoch_;
    for (; open_.size() > scope; open_.pop_back()) defined_.at(open_.back()).in_scope = false;
  }

  Ref root_;
  Ref statement_;
  const PrimFunc* func_ = nullptr;
  int blocks_ = 0;  ///< With axes, around this place.
  int loops_ = 0;   ///< Around this place, in the same block.
  int epoch_ = 0;   ///< Grows when a use that was right may become wrong.
  std::unordered_map<const Object*, Definition> defined_;
  std::unordered_map<const Object*, int> checked_;
  std::vector<const Object*> open_;
};

template <class F>
bool passes(F&& verify) {
  try {
    verify();
  } catch (const UserError&) {
    return false;
  }
  return true;
}

}  // namespace

void verify_well_formed(const Ptr<PrimFunc>& func) {
  Checker(func).function(*func);
}

void verify_well_formed(const Ptr<IRModule>& module) {
  Checker checker(module);
  for (const Ptr<PrimFunc>& func : module->functions) checker.function(*func);
}

bool is_well_formed(const Ptr<PrimFunc>& func) {
  return passes([&] { verify_well_formed(func); });
}

bool is_well_formed(const Ptr<IRModule>& module) {
  return passes([&] { verify_well_formed(module); });
}

}  // namespace loopsmith
