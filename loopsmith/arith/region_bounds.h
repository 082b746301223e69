// SPDX-License-Identifier: Apache-2.0
// Which elements a region accesses while iterators run: exactly, at least, at most; and whether
// some regions cover another.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/arith/int_set.h"
#include "loopsmith/arith/iter_map.h"

namespace loopsmith {

/// A box of points: a set for each dimension.
using IntBox = std::vector<IntSet>;

/// The union of `region` over all values of the iterators for which `predicate` holds (null:
/// always); nullopt where that is no box that is known exactly.
std::optional<IntBox> estimate_region_strict_bound(std::span<const Ptr<Range>> region,
                                                   std::span<const Iterator> iterators,
                                                   const Expr& predicate, Analyzer& analyzer);

/// A box within that union; nullopt where none is known.
std::optional<IntBox> estimate_region_lower_bound(std::span<const Ptr<Range>> region,
                                                  std::span<const Iterator> iterators,
                                                  const Expr& predicate, Analyzer& analyzer);

/// A box that holds that union; a side of which nothing is known is open.
IntBox estimate_region_upper_bound(std::span<const Ptr<Range>> region,
                                   std::span<const Iterator> iterators, const Expr& predicate,
                                   Analyzer& analyzer);

/// The largest interval found that lies within the union of `sets`: the first of them, and those
/// that are known to continue it.
IntSet union_lower_bound(std::span<const IntSet> sets, Analyzer& analyzer);

/// True when each point of `box` is known to be in one of `covers`.
bool is_covered(const IntBox& box, std::span<const IntBox> covers, Analyzer& analyzer);

}  // namespace loopsmith
