// SPDX-License-Identifier: Apache-2.0
// The elements of a copy that the instances of a block use, by an index map of its axes.
#pragma once
#include <functional>
#include <variant>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition index_map_uses_the_same_axes{
    "index_map_uses_the_same_axes", "axis {} appears in the {} indices but not in the {} ones",
    "use in the index map the axes that the block uses to access the buffer, and no others"};
inline constexpr ResultChange mapping_is_injective{
    LegalityQuestion::coherence, false, "the index map may take different axes to one element: {}",
    "use a map that can be inverted"};

/// Indices in a copy, in terms of a block's axes, and the shape of the copy.
struct MappedIndices {
  std::vector<Expr> indices;
  std::vector<Expr> shape;
};

/// Applies a map to the axes of a block; a refusal where another number of axes is taken, or where
/// instances that differ in the axes that are used would have one element.
std::variant<MappedIndices, Refusal> map_axes(const Schedule& schedule, BlockRV block,
                                              const IndexMap& map,
                                              const std::function<bool(const Ptr<Var>&)>& is_used);

/// The axes of a block that a map makes indices of; a refusal where it takes another number of
/// them.
std::variant<std::vector<Ptr<IterVar>>, Refusal> axes_in_map(const Schedule& schedule,
                                                             BlockRV block, const IndexMap& map);

}  // namespace loopsmith
