// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/conditions.h"

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

}  // namespace loopsmith
