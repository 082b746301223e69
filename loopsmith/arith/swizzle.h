// SPDX-License-Identifier: Apache-2.0
// Swizzles: indices that others rotate, or combine with by exclusive or. Private to index maps.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

class Analyzer;

/// An index map without a swizzle that it began with: a permutation of the box of its indices, so
/// that both maps have one image, and are injective together.
struct Unswizzled {
  IndexMap map;                    ///< Of indices of its own.
  std::vector<Ptr<Range>> ranges;  ///< The box that these run through.
  std::vector<Expr> back;          ///< The old indices, in terms of the new ones.
};

/// Takes one swizzle out of a map of a box: `(c * j + e) % n`, where j runs through n values and c
/// has no factor in common with n; or `j ^ e`, where e is below a power of two that divides the
/// number of values of j. In both, j is an index or a digit of one, which stands nowhere else and
/// not in e. None where there is no such swizzle.
///
/// As long as all other indices stay, so does e; and then each of both is a permutation of the
/// values of j.
std::optional<Unswizzled> without_swizzle(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                          Analyzer& analyzer);

}  // namespace loopsmith
