// SPDX-License-Identifier: Apache-2.0
// The interval of one dimension of a region, with affine bounds.
#pragma once
#include <optional>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

/// An interval with affine bounds: base + low, ..., base + high; or the whole dimension.
struct AffineInterval {
  bool is_whole = true;
  IndexTerms base = {};  ///< Of variables outside.
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Loop variables that are projected out of a region.
using InnerVariables = std::unordered_set<const Object*>;

/// True when two sums have the same terms, in any order.
bool same_terms(const IndexTerms& a, const IndexTerms& b);
/// True when the term depends on an inner variable.
bool is_inner(const IndexTerm& term, const InnerVariables& inner);
/// The extent of a dimension, if it is constant.
std::optional<std::int64_t> constant_extent(const Buffer& buffer, std::size_t dimension);

/// The interval clamped to the buffer where its base is constant; whole if it covers the dimension.
AffineInterval clipped(AffineInterval side, const Buffer& buffer, std::size_t dimension);
/// The values of `form` while the inner variables run through theirs.
AffineInterval affine_interval_of(const IndexForm& form, const InnerVariables& inner);
/// The smallest interval that contains both.
AffineInterval join(const AffineInterval& a, const AffineInterval& b);
/// True when the bounds of two intervals differ by constants.
bool same_base(const AffineInterval& a, const AffineInterval& b);

}  // namespace loopsmith
