// SPDX-License-Identifier: Apache-2.0
// What one index of a box of elements runs through.
#pragma once
#include <optional>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

/// What one index of a box runs through: base + low, ..., base + high; or its whole dimension.
struct AffineInterval {
  bool is_whole = true;
  std::vector<IndexTerm> base = {};  ///< Of variables outside.
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Variables that run through their values while a box is looked at.
using InnerVariables = std::unordered_set<const Object*>;

/// True when two sums have the same terms, in any order.
bool same_terms(const std::vector<IndexTerm>& a, const std::vector<IndexTerm>& b);
/// True when the term moves with an inner variable.
bool is_inner(const IndexTerm& term, const InnerVariables& inner);
/// The extent of a dimension, if it is constant.
std::optional<std::int64_t> constant_extent(const Buffer& buffer, std::size_t dimension);

/// Where nothing outside moves the side: no further than the buffer, and whole if it is.
AffineInterval clipped(AffineInterval side, const Buffer& buffer, std::size_t dimension);
/// The values of `form` while the inner variables run through theirs.
AffineInterval affine_interval_of(const IndexForm& form, const InnerVariables& inner);
/// A side that holds both.
AffineInterval join(const AffineInterval& a, const AffineInterval& b);
/// True when two sides are apart by a constant.
bool same_base(const AffineInterval& a, const AffineInterval& b);

}  // namespace loopsmith
