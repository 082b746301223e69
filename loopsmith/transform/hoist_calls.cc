// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_calls.h"

#include <ranges>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

class Hoister {
 public:
  explicit Hoister(const std::function<Expr(const Call&)>& rewrite) : rewrite_call_(rewrite) {
    rewrite_.on<Call>([this](const Call& node) { return call(node); });
    rewrite_.on<And>([this](const And& node) -> Expr {
      if (!calls_functions(node.b)) return rewrite_.children(node);
      return choice(node.a, node.b, Expr(false));
    });
    rewrite_.on<Or>([this](const Or& node) -> Expr {
      if (!calls_functions(node.b)) return rewrite_.children(node);
      return choice(node.a, Expr(true), node.b);
    });
    rewrite_.on<Let>([this](const Let& node) -> Expr {
      if (!calls_functions(node.body)) return rewrite_.children(node);
      define(node.var, rewrite_(node.value));
      return rewrite_(node.body);
    });
    rewrite_.on<While>([this](const While& node) { return loop(node); });
    rewrite_.on<LetStmt>([this](const LetStmt& node) { return statement(node, node.value); });
    rewrite_.on<Evaluate>([this](const Evaluate& node) { return statement(node, node.value); });
    on_statement<BufferStore>();
    on_statement<IfThenElse>();
    on_statement<For>();
    on_statement<AssertStmt>();
    on_statement<AttrStmt>();
    on_statement<Allocate>();
    on_statement<BlockRealize>();
    on_statement<Return>();
  }

  Stmt run(const Stmt& stmt) { return rewrite_(stmt); }

 private:
  /// What goes around a statement, outermost first.
  using Prefix = std::vector<std::function<Stmt(Stmt)>>;

  static Stmt with(const Prefix& prefix, Stmt body) {
    for (const auto& wrap : prefix | std::views::reverse) body = wrap(std::move(body));
    return body;
  }

  template <class T>
  void on_statement() {
    rewrite_.on<T>([this](const T& node) { return statement(node, nullptr); });
  }

  /// `in_place` is a call that may stay where it is.
  template <class T>
  Stmt statement(const T& node, const Expr& in_place) {
    const Prefix outer = std::exchange(prefix_, {});
    const Object* outer_in_place = std::exchange(in_place_, in_place.get());
    const Ptr<T> inside = rewrite_.children(node);
    Stmt result = with(prefix_, inside);
    if (!prefix_.empty()) rewrite_.forget();  // Its variables are known here alone.
    prefix_ = outer;
    in_place_ = outer_in_place;
    return result;
  }

  /// while a < f(x): body   =>   while true: { c = f(x); if !(a < c): break; body }
  Stmt loop(const While& node) {
    if (!calls_functions(node.condition)) return rewrite_.children(node);
    const Prefix outer = std::exchange(prefix_, {});
    const Expr condition = rewrite_(node.condition);
    const Stmt leave =
        with(prefix_, make(IfThenElse{.condition = !condition, .then_case = make(Break{})}));
    rewrite_.forget();
    prefix_ = outer;
    return make(While{.condition = true, .body = seq({leave, rewrite_(node.body)})});
  }

  void define(const Ptr<Var>& var, const Expr& value) {
    prefix_.push_back([var, value](Stmt body) -> Stmt {
      return make(LetStmt{.value = value, .var = var, .body = std::move(body)});
    });
  }

  Expr call(const Call& node) {
    const bool has_arms = node.op == op("if_then_else") && node.args[0].dtype().is_scalar();
    if (has_arms && (calls_functions(node.args[1]) || calls_functions(node.args[2]))) {
      return choice(node.args[0], node.args[1], node.args[2]);
    }
    if (node.op != op("call_global")) return rewrite_.children(node);
    const bool stays = &node == in_place_;
    const Ptr<Call> inside = rewrite_.children(node);
    const Expr made = rewrite_call_(*inside);
    if (stays || made.dtype().is_void()) return made;
    const auto* callee = node.args[0].as<GlobalVar>();
    const Ptr<Var> result = var(callee ? callee->name_hint : "result", node.dtype);
    define(result, made);
    return result;
  }

  /// A value that is chosen by a statement, because an arm of it calls.
  Expr choice(const Expr& condition, const Expr& yes, const Expr& no) {
    const Ptr<Buffer> chosen = decl_buffer({1}, yes.dtype(), "chosen", "local");
    const Expr first = 0;
    const Expr decided = rewrite_(condition);
    const auto arm = [&](const Expr& value) {
      const Prefix outer = std::exchange(prefix_, {});
      rewrite_.forget();  // What one arm has computed is not known in the other.
      const Expr made = rewrite_(value);
      const Stmt done = with(prefix_, store(chosen, made, {first}));
      prefix_ = outer;
      return done;
    };
    const Stmt if_true = arm(yes), if_false = arm(no);
    rewrite_.forget();
    const Stmt decide =
        make(IfThenElse{.condition = decided, .then_case = if_true, .else_case = if_false});
    prefix_.push_back([chosen, decide](Stmt body) -> Stmt {
      return make(Allocate{
          .dtype = chosen->dtype,
          .extents = chosen->shape,
          .condition = true,
          .buffer_var = chosen->data,
          .body = make(DeclBuffer{.buffer = chosen, .body = seq({decide, std::move(body)})})});
    });
    return load(chosen, {first});
  }

  Rewriter rewrite_;
  const std::function<Expr(const Call&)>& rewrite_call_;
  Prefix prefix_;
  const Object* in_place_ = nullptr;
};

}  // namespace

bool calls_functions(const Ref& root) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found = found || (call && call->op == op("call_global"));
    return !found;
  });
  return found;
}

Stmt hoist_calls(const Stmt& stmt, const std::function<Expr(const Call&)>& rewrite) {
  return Hoister(rewrite).run(stmt);
}

}  // namespace loopsmith
