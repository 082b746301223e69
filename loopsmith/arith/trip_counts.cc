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

bool holds_if_run(const Expr& condition, std::span<const For* const> loops) {
  Substitution starts;
  for (const For* loop : loops) starts[loop->loop_var] = loop->min;
  Analyzer analyzer;
  const Expr first = analyzer.simplify(substitute(condition, starts));
  if (is_const_int(first, 1)) return true;
  const ConstraintScope fails = analyzer.constraint_scope(!first);
  return std::ranges::any_of(loops,
                             [&](const For* loop) { return is_none(analyzer, loop->extent); });
}

Expr holds_at_start(const Expr& condition, std::span<const For* const> loops) {
  if (holds_if_run(condition, loops)) return true;
  Substitution starts;
  for (const For* loop : loops) starts[loop->loop_var] = loop->min;
  Analyzer analyzer;
  Expr result = analyzer.simplify(substitute(condition, starts));
  for (const For* loop : loops) {
    if (!runs_with(loop->extent, {}))
      result = result && loop->extent >= int_imm(loop->extent.dtype(), 1);
  }
  return result;
}

}  // namespace loopsmith::arith
