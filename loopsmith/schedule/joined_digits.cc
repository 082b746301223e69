// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/joined_digits.h"

#include <optional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

bool are_same(const Expr& a, const Expr& b) {
  return a.same_as(b) || structural_equal(a, b);
}

/// True for `x // m`, also as y // (k * m) where x is y // k.
bool is_quotient(const Expr& value, const Expr& x, const Expr& m) {
  const auto* quotient = value.as<FloorDiv>();
  if (!quotient) return false;
  if (are_same(quotient->a, x)) return are_same(quotient->b, m);
  const auto* inner = x.as<FloorDiv>();
  return inner && are_same(quotient->a, inner->a) &&
         Analyzer().can_prove_equal(quotient->b, inner->b * m);
}

/// Takes one pair of digits for the value that they make; false when there is none.
bool join_one(std::vector<Expr>& values) {
  for (std::size_t low = 0; low < values.size(); ++low) {
    const auto* remainder = values[low].as<FloorMod>();
    if (!remainder) continue;
    for (std::size_t high = 0; high < values.size(); ++high) {
      if (!is_quotient(values[high], remainder->a, remainder->b)) continue;
      values[low] = Expr(remainder->a);
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(high));
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Expr> join_digits(std::vector<Expr> values) {
  while (join_one(values)) {
  }
  return values;
}

}  // namespace loopsmith
