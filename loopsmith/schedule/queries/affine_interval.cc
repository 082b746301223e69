// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/affine_interval.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// Adds coefficient * [min, max] of a term to [low, high]; false when it is not bounded.
bool widen(const IndexTerm& term, std::int64_t& low, std::int64_t& high) {
  std::int64_t a = 0, b = 0;
  if (!term.is_bounded || __builtin_mul_overflow(term.coefficient, term.min, &a) ||
      __builtin_mul_overflow(term.coefficient, term.max, &b)) {
    return false;
  }
  return !__builtin_add_overflow(low, std::min(a, b), &low) &&
         !__builtin_add_overflow(high, std::max(a, b), &high);
}

}  // namespace

bool same_terms(const IndexTerms& a, const IndexTerms& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const IndexTerm& term) {
           return std::ranges::any_of(b, [&](const auto& other) { return same_term(term, other); });
         });
}

bool is_inner(const IndexTerm& term, const InnerVariables& inner) {
  return any_variable(term, [&](const Object* variable) { return inner.contains(variable); });
}

std::optional<std::int64_t> constant_extent(const Buffer& buffer, std::size_t dimension) {
  const std::int64_t* extent = as_int(buffer.shape[dimension]);
  return extent ? std::optional(*extent) : std::nullopt;
}

AffineInterval clipped(AffineInterval side, const Buffer& buffer, std::size_t dimension) {
  const auto extent = constant_extent(buffer, dimension);
  if (side.is_whole || !side.base.empty() || !extent) return side;
  side.low = std::clamp<std::int64_t>(side.low, 0, std::max<std::int64_t>(*extent - 1, 0));
  side.high = std::clamp<std::int64_t>(side.high, side.low, std::max(*extent - 1, side.low));
  if (side.low == 0 && side.high == *extent - 1) return AffineInterval{};
  return side;
}

AffineInterval affine_interval_of(const IndexForm& form, const InnerVariables& inner) {
  AffineInterval side{.is_whole = false, .low = form.constant, .high = form.constant};
  for (const IndexTerm& term : form.terms) {
    if (!is_inner(term, inner)) {
      side.base.push_back(term);
    } else if (!widen(term, side.low, side.high)) {
      return {};
    }
  }
  return side;
}

AffineInterval join(const AffineInterval& a, const AffineInterval& b) {
  if (a.is_whole || b.is_whole || !same_terms(a.base, b.base)) return {};
  AffineInterval side = a;
  side.low = std::min(a.low, b.low);
  side.high = std::max(a.high, b.high);
  return side;
}

bool same_base(const AffineInterval& a, const AffineInterval& b) {
  return same_terms(a.base, b.base);
}

}  // namespace loopsmith
