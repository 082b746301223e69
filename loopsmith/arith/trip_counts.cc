// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/trip_counts.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {
namespace {

/// True when a loop of the extent has no iteration. How often a loop over parts of another runs
/// tells of the other: (n + d - 1) // d parts are none where the n elements that they cover are
/// none.
bool is_none(Analyzer& analyzer, const Expr& extent) {
  if (analyzer.can_prove(extent <= int_imm(extent.dtype(), 0))) return true;
  bool found = false;
  pre_order_visit(extent, [&](const Ref& ref) {
    const auto* quotient = found ? nullptr : ref.as<FloorDiv>();
    const std::int64_t* divisor = quotient ? as_int(quotient->b) : nullptr;
    if (divisor && *divisor > 0) {
      const Expr& size = quotient->b;
      const Expr others = extent - Expr(Ptr<FloorDiv>::from(ref));
      found = analyzer.can_prove(others * size + quotient->a < size);
    }
    return !found;
  });
  return found;
}

}  // namespace

bool runs_with(const Expr& extent, std::span<const Expr> others) {
  const std::int64_t* constant = as_int(extent);
  if (constant && *constant > 0) return true;
  Analyzer analyzer;
  Expr all_run = true;
  for (const Expr& other : others) all_run = all_run && other >= int_imm(other.dtype(), 1);
  const Expr runs = extent >= int_imm(extent.dtype(), 1);
  {
    const ConstraintScope known = analyzer.constraint_scope(all_run);
    if (analyzer.can_prove(runs)) return true;
  }
  const ConstraintScope known = analyzer.constraint_scope(!runs);
  return std::ranges::any_of(others, [&](const Expr& other) { return is_none(analyzer, other); });
}

Expr unless_empty(const Expr& condition, std::span<const Expr> extents) {
  Analyzer analyzer;
  const Expr simple = analyzer.simplify(condition);
  if (is_const_int(simple, 1)) return simple;
  {
    Expr all_run = true;
    for (const Expr& extent : extents) all_run = all_run && extent >= int_imm(extent.dtype(), 1);
    const ConstraintScope known = analyzer.constraint_scope(all_run);
    if (analyzer.can_prove(simple)) return true;
  }
  const ConstraintScope fails = analyzer.constraint_scope(!simple);
  const bool is_implied =
      std::ranges::any_of(extents, [&](const Expr& each) { return is_none(analyzer, each); });
  return is_implied ? Expr(true) : simple;
}

}  // namespace loopsmith::arith
