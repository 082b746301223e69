// SPDX-License-Identifier: Apache-2.0
// Whether the axes of a block identify its instances, and the elements that it writes.
#pragma once
#include <optional>
#include <span>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// True when different iterations of the loops are different instances of the block, which is alone
/// in them.
bool is_injective(const Schedule& schedule, BlockRV block, std::span<const LoopRV> band);

/// True when the iterations of the loops, the innermost ones around the block, are different
/// instances of it while those outside stay.
bool runs_each_once(const Schedule& schedule, BlockRV block, std::span<const LoopRV> inner);

/// True when the declared axes are right: what a block does depends on them alone, the elements
/// written are an injective function of the spatial axes, and only the reduction carries
/// dependences along the others.
bool axes_are_injective(const Schedule& schedule, BlockRV block);
/// The same for a block that may also read other elements of the buffer that it reduces into.
bool writes_are_injective(const Schedule& schedule, BlockRV block);

/// True when the regions that the block is declared to write are disjoint for different values of
/// its spatial axes: of what stands in blocks inside it or behind calls, no more is known.
bool declares_own_elements(const Block& block);

/// True when a block writes memory that is read to find out which of its instances run: its
/// predicate, the values of its axes, or the bounds of the loops that are given.
bool decides_on_itself(const Schedule& schedule, BlockRV block, std::span<const LoopRV> loops);

/// The block, if it is all there is inside the loop but other loops.
std::optional<BlockRV> only_block(const Schedule& schedule, LoopRV loop);

/// True when the iterations of a loop give different results of one block, which is all there is
/// inside: spatial axes of the block tell the loop, and the block is what its axes say.
bool has_results_apart(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
