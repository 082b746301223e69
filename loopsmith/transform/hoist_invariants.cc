// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_invariants.h"

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

bool is_invariant(const Expr& e, const For& loop) {
  return is_timeless(e) && !uses_variable(e, loop.loop_var);
}

Stmt with_loop(const For& loop, Stmt body) {
  For copy = loop;
  copy.body = std::move(body);
  return make(std::move(copy));
}

Stmt hoist_one(const For& loop);

Stmt hoist(const For& loop) {
  return deep_call([&] { return hoist_one(loop); });
}

/// `loop` over a body that is an `if`, of which the invariant conditions move out.
Stmt hoist_branch(const For& loop, const IfThenElse& branch) {
  std::vector<Expr> outside, inside;
  for (const Expr& condition : arith::conjuncts(branch.condition)) {
    (is_invariant(condition, loop) ? outside : inside).push_back(condition);
  }
  if (outside.empty() || (branch.else_case && !inside.empty())) return Stmt(&loop);
  IfThenElse copy = branch;
  copy.condition = conjunction(outside);
  copy.then_case =
      hoist(*with_loop(loop, guarded(conjunction(inside), branch.then_case)).as<For>());
  if (branch.else_case) {
    copy.else_case = clone_with(with_loop(loop, branch.else_case), {});
  }
  return make(std::move(copy));
}

Stmt hoist_one(const For& loop) {
  if (loop.kind == ForKind::thread_binding) return Stmt(&loop);
  if (const auto* branch = loop.body.as<IfThenElse>()) return hoist_branch(loop, *branch);
  const auto* let = loop.body.as<LetStmt>();
  if (!let || !is_invariant(let->value, loop)) return Stmt(&loop);
  LetStmt copy = *let;
  copy.body = hoist(*with_loop(loop, let->body).as<For>());
  return make(std::move(copy));
}

}  // namespace

Ptr<PrimFunc> hoist_invariants(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  // From the inside out, so that a condition climbs as far as it can.
  rewrite.on<For>([&](const For& loop) { return hoist(*rewrite.children(loop)); });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
