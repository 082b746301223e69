// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/conjuncts.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith::arith {

std::vector<Expr> conjuncts(const Expr& condition) {
  std::vector<Expr> open{condition};
  std::vector<Expr> result;
  while (!open.empty()) {
    const Expr next = open.back();
    open.pop_back();
    const auto* call = next.as<Call>();
    if (const auto* both = next.as<And>()) {
      open.push_back(both->b);
      open.push_back(both->a);
    } else if (call && call->op == op("likely")) {
      open.push_back(call->args[0]);
    } else if (!is_const_int(next, 1)) {
      result.push_back(next);
    }
  }
  return result;
}

std::optional<Comparison> comparison_of(const Expr& condition) {
  const auto integers = [](const auto* node) {
    return node && node->a.dtype().is_index() && node->a.dtype().is_scalar();
  };
  if (const auto* n = condition.as<LT>(); integers(n)) return Comparison{n->a, n->b, true};
  if (const auto* n = condition.as<LE>(); integers(n)) return Comparison{n->a, n->b};
  if (const auto* n = condition.as<GT>(); integers(n)) return Comparison{n->b, n->a, true};
  if (const auto* n = condition.as<GE>(); integers(n)) return Comparison{n->b, n->a};
  if (const auto* n = condition.as<EQ>(); integers(n)) return Comparison{n->a, n->b, false, true};
  return {};
}

}  // namespace loopsmith::arith
