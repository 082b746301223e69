// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/conditions.h"

#include <utility>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

Expr conjunction(const std::vector<Expr>& conditions) {
  Expr result = true;
  for (const Expr& condition : conditions) result = result && condition;
  return result;
}

Stmt guarded(const Expr& condition, Stmt body) {
  if (is_const_int(condition, 1)) return body;
  return make(IfThenElse{.condition = condition, .then_case = std::move(body)});
}

std::optional<arith::Comparison> timeless_comparison(const Expr& condition) {
  const auto found = arith::comparison_of(condition);
  const bool is_order = found && !found->is_equality;
  return is_order && is_timeless(condition) ? found : std::nullopt;
}

Stmt without_conditions(const Stmt& body, const ConditionSet& known) {
  const auto left_of = [&](const Expr& condition) {
    std::vector<Expr> left;
    for (const Expr& each : arith::conjuncts(condition)) {
      if (!known.contains(each.get())) left.push_back(each);
    }
    return conjunction(left);
  };
  Rewriter rewrite;
  rewrite.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
    IfThenElse copy = node;
    copy.condition = left_of(node.condition);
    if (is_const_int(copy.condition, 1)) return rewrite(node.then_case);
    return rewrite.children(*make(std::move(copy)));
  });
  rewrite.on<Call>([&](const Call& node) -> Expr {
    if (node.op != op("if_then_else")) return rewrite.children(node);
    const Expr condition = left_of(node.args[0]);
    if (is_const_int(condition, 1)) return rewrite(node.args[1]);
    return if_then_else(condition, rewrite(node.args[1]), rewrite(node.args[2]));
  });
  rewrite.on<Select>([&](const Select& node) -> Expr {
    const bool holds = is_const_int(left_of(node.condition), 1);
    return holds ? rewrite(node.true_value) : Expr(rewrite.children(node));
  });
  return rewrite(body);
}

}  // namespace loopsmith
