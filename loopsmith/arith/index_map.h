// SPDX-License-Identifier: Apache-2.0
// What is done with functions from indices to indices: the layouts of buffers and blocks.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

class Analyzer;

/// The image of `indices`, simplified. Throws a UserError when their number is not the map's.
std::vector<Expr> map_indices(const IndexMap& map, std::span<const Expr> indices,
                              Analyzer& analyzer);

/// The smallest box that holds the image of a box; where the map pads, with the padding.
std::vector<Ptr<Range>> map_ranges(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                   Analyzer& analyzer);
/// The extents of the smallest box from 0 on that holds a box. Throws a UserError where that may
/// begin below 0.
std::vector<Expr> shape_around(std::span<const Ptr<Range>> box, Analyzer& analyzer);
/// That of the image of a box that starts at 0, by its extents.
std::vector<Expr> map_shape(const IndexMap& map, std::span<const Expr> shape, Analyzer& analyzer);

/// The map back from the image of a box. Throws a UserError unless the map takes each point of the
/// box to one of the image's own, and leaves none of the image out.
Ptr<IndexMap> inverse(const IndexMap& map, std::span<const Ptr<Range>> ranges, Analyzer& analyzer);

/// The same for a map that pads: and a condition on the new indices, true where a point is the
/// image of none in the box.
std::pair<Ptr<IndexMap>, Expr> non_surjective_inverse(const IndexMap& map,
                                                      std::span<const Ptr<Range>> ranges,
                                                      Analyzer& analyzer);

/// The map in the simplest form that it has on a box.
Ptr<IndexMap> simplified(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                         Analyzer& analyzer);

/// True when both maps are known to take equal indices to equal indices.
bool is_equivalent(const IndexMap& a, const IndexMap& b, Analyzer& analyzer);

}  // namespace loopsmith
