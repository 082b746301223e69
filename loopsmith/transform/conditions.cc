// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/conditions.h"

namespace loopsmith {

std::vector<Expr> conjuncts_of(const Expr& condition) {
  std::vector<Expr> result;
  std::vector<Expr> waiting{condition};
  while (!waiting.empty()) {
    const Expr next = std::move(waiting.back());
    waiting.pop_back();
    const auto* call = next.as<Call>();
    if (const auto* both = next.as<And>()) {
      waiting.push_back(both->b);
      waiting.push_back(both->a);
    } else if (call && call->op == op("likely")) {
      waiting.push_back(call->args[0]);
    } else if (!is_const_int(next, 1)) {
      result.push_back(next);
    }
  }
  return result;
}

Expr conjunction(const std::vector<Expr>& conditions) {
  Expr result = true;
  for (const Expr& condition : conditions) result = result && condition;
  return result;
}

Stmt guarded(const Expr& condition, Stmt body) {
  if (is_const_int(condition, 1)) return body;
  return make(IfThenElse{.condition = condition, .then_case = std::move(body)});
}

}  // namespace loopsmith
