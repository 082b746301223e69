// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/simplify.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

class Simplifier {
 public:
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) {
    set_rules();
    return rewrite_.body_of(func);
  }

 private:
  void set_rules();
  Stmt loop(const For& loop);
  Stmt branch(const IfThenElse& branch);
  Stmt let(const LetStmt& let);

  Expr simple(const Expr& e) {
    if (!e.defined()) return e;
    return analyzer_.simplify(values_.empty() ? e : rewrite_(e));
  }
  /// `node` with each expression directly in it simplified, and its statements rewritten.
  template <class T>
  Ptr<T> with(T node, std::initializer_list<Expr T::*> exprs) {
    for (Expr T::* field : exprs) node.*field = simple(node.*field);
    return make(std::move(node));
  }
  Stmt under(const Expr& condition, const Stmt& body) {
    const ConstraintScope scope = analyzer_.constraint_scope(condition);
    rewrite_.forget();
    Stmt result = rewrite_(body);
    rewrite_.forget();
    return result;
  }

  Rewriter rewrite_;
  Analyzer analyzer_;
  Substitution values_;  // Of variables that go away.
};

Stmt Simplifier::loop(const For& node) {
  For copy = node;
  copy.min = simple(node.min);
  copy.extent = simple(node.extent);
  copy.step = simple(node.step);
  const std::int64_t* extent = as_int(copy.extent);
  if (extent && *extent <= 0) return no_op();
  if (extent && *extent == 1 && copy.kind != ForKind::thread_binding && copy.annotations.empty() &&
      !leaves_loop(copy.body)) {
    values_[copy.loop_var] = copy.min;
    return rewrite_(copy.body);
  }
  bind_loop(analyzer_, copy);
  copy.body = rewrite_(copy.body);
  if (is_no_op(copy.body)) return no_op();
  return make(std::move(copy));
}

Stmt Simplifier::branch(const IfThenElse& node) {
  IfThenElse copy = node;
  copy.condition = simple(node.condition);
  if (const std::int64_t* known = as_int(copy.condition)) {
    if (*known) return rewrite_(node.then_case);
    return node.else_case ? rewrite_(node.else_case) : no_op();
  }
  copy.then_case = under(copy.condition, node.then_case);
  if (node.else_case) copy.else_case = under(!copy.condition, node.else_case);
  if (copy.else_case && is_no_op(copy.else_case)) copy.else_case = nullptr;
  if (is_no_op(copy.then_case)) {
    if (!copy.else_case) return no_op();
    return guarded(simple(!copy.condition), copy.else_case);
  }
  return make(std::move(copy));
}

bool has_calls(const Expr& value) {
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    found = found || ref.is<Call>();
    return !found;
  });
  return found;
}

Stmt Simplifier::let(const LetStmt& node) {
  LetStmt copy = node;
  copy.value = simple(node.value);
  if (copy.value.is<Var>() || copy.value.is<IntImm>() || copy.value.is<FloatImm>()) {
    values_[node.var] = copy.value;
    return rewrite_(node.body);
  }
  if (copy.value.dtype().is_integer() && copy.value.dtype().is_scalar()) {
    if (has_calls(copy.value)) {  // To be computed once: what is bound may be put in its place.
      analyzer_.update(copy.var, analyzer_.const_int_bound(copy.value));
    } else {
      analyzer_.bind(copy.var, copy.value);
    }
  }
  copy.body = rewrite_(node.body);
  return make(std::move(copy));
}

void Simplifier::set_rules() {
  rewrite_.on<Var>([this](const Var& variable) -> Expr {
    const auto value = values_.find(Ref(&variable));
    return value == values_.end() ? Expr(&variable) : value->second;
  });
  rewrite_.on<For>([this](const For& node) { return loop(node); });
  rewrite_.on<IfThenElse>([this](const IfThenElse& node) { return branch(node); });
  rewrite_.on<LetStmt>([this](const LetStmt& node) { return let(node); });
  rewrite_.on<BufferStore>([this](const BufferStore& node) -> Stmt {
    BufferStore copy = node;
    copy.buffer = rewrite_.buffer(node.buffer);
    for (Expr& index : copy.indices) index = simple(index);
    copy.value = simple(node.value);
    copy.predicate = simple(node.predicate);
    return make(std::move(copy));
  });
  rewrite_.on<SeqStmt>([this](const SeqStmt& node) -> Stmt {
    std::vector<Stmt> statements;
    for (const Stmt& child : node.seq) statements.push_back(rewrite_(child));
    return seq(std::move(statements));
  });
  rewrite_.on<Evaluate>(
      [this](const Evaluate& node) -> Stmt { return with(node, {&Evaluate::value}); });
  rewrite_.on<While>([this](const While& node) -> Stmt {
    While copy = node;
    copy.condition = simple(node.condition);
    if (is_const_int(copy.condition, 0)) return no_op();
    copy.body = rewrite_(node.body);
    return make(std::move(copy));
  });
  rewrite_.on<AssertStmt>([this](const AssertStmt& node) -> Stmt {
    AssertStmt copy = node;
    copy.condition = simple(node.condition);
    copy.body = under(copy.condition, node.body);
    return is_const_int(copy.condition, 1) ? copy.body : make(std::move(copy));
  });
  rewrite_.on<Allocate>([this](const Allocate& node) -> Stmt {
    Allocate copy = node;
    for (Expr& extent : copy.extents) extent = simple(extent);
    return rewrite_.children(*make(std::move(copy)));
  });
}

}  // namespace

Ptr<PrimFunc> simplify(const Ptr<PrimFunc>& func) {
  return Simplifier().run(func);
}

}  // namespace loopsmith
