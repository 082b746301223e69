// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/extent.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// The right operand of an Add or Mul whose left one is `a`; null for anything else.
template <class T>
Expr beside(const Expr& expr, const Expr& a) {
  const auto* node = expr.as<T>();
  return node && structural_equal(node->a, a) ? node->b : Expr();
}

/// Ends that people write, of which one may be the one that was meant.
std::vector<Expr> likely_stops(const Expr& min, const Expr& extent, const Expr& step) {
  std::vector<Expr> stops;
  if (is_const_int(step, 1)) {
    if (is_const_int(min, 0)) stops.push_back(extent);
    if (const auto* difference = extent.as<Sub>()) stops.push_back(difference->a);
  } else if (const auto* quotient = extent.as<FloorDiv>()) {
    // ceildiv(span, step)
    if (const auto* sum = quotient->a.as<Add>()) {
      if (const auto* difference = sum->a.as<Sub>()) stops.push_back(difference->a);
      stops.push_back(is_const_int(min, 0) ? sum->a : Expr(make(Add{.a = min, .b = sum->a})));
    }
  }
  if (min.is<IntImm>() && extent.is<IntImm>() && step.is<IntImm>()) {
    stops.push_back(min + extent * step);
  }
  return stops;
}

}  // namespace

Expr stop_of(const Expr& min, const Expr& extent, const Expr& step) {
  for (const Expr& stop : likely_stops(min, extent, step)) {
    if (structural_equal(extent_between(min, stop, step), extent)) return stop;
  }
  if (is_const_int(step, 1)) return make(Add{.a = min, .b = extent});
  return make(Add{.a = min, .b = make(Mul{.a = step, .b = extent})});
}

Expr extent_between(const Expr& start, const Expr& stop, const Expr& step) {
  Expr span = beside<Add>(stop, start);
  if (!span.defined()) span = stop - start;
  if (is_const_int(step, 1)) return span;
  if (Expr count = beside<Mul>(span, step); count.defined()) return count;
  const std::int64_t* constant = as_int(step);
  if (constant && *constant < 0) return ceildiv(zero_of(span.dtype()) - span, -step);
  return ceildiv(span, step);
}

}  // namespace loopsmith
