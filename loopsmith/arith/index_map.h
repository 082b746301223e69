// SPDX-License-Identifier: Apache-2.0
// What is done with functions from indices to indices: the layouts of buffers and blocks. Each
// throws a UserError for another number of indices than the map takes.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/support/expected.h"

namespace loopsmith {

class Analyzer;

/// The image of `indices`, simplified.
std::vector<Expr> map_indices(const IndexMap& map, std::span<const Expr> indices,
                              Analyzer& analyzer);

/// The smallest box that holds the image of a box; where the map pads, with the padding. None where
/// an index of the image has no bounds.
Expected<std::vector<Ptr<Range>>> map_ranges(const IndexMap& map,
                                             std::span<const Ptr<Range>> ranges,
                                             Analyzer& analyzer);
/// The extents of the smallest box from 0 on that holds a box. None where that may begin below 0.
Expected<std::vector<Expr>> shape_around(std::span<const Ptr<Range>> box, Analyzer& analyzer);
/// That of the image of a box that starts at 0, by its extents.
Expected<std::vector<Expr>> map_shape(const IndexMap& map, std::span<const Expr> shape,
                                      Analyzer& analyzer);

/// The map back from the image of a box. None unless the map takes each point of the box to one of
/// the image's own, and leaves none of the image out.
Expected<Ptr<IndexMap>> inverse(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                Analyzer& analyzer);

/// The same for a map that pads: and a condition on the new indices, true where a point is the
/// image of none in the box.
struct PaddedInverse {
  Ptr<IndexMap> map;
  Expr padding;
};
Expected<PaddedInverse> non_surjective_inverse(const IndexMap& map,
                                               std::span<const Ptr<Range>> ranges,
                                               Analyzer& analyzer);

/// The map in the simplest form that it has on a box.
Ptr<IndexMap> simplified(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                         Analyzer& analyzer);

/// True when both maps are known to take equal indices to equal indices.
bool is_equivalent(const IndexMap& a, const IndexMap& b, Analyzer& analyzer);

}  // namespace loopsmith
