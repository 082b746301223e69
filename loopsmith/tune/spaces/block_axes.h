// SPDX-License-Identifier: Apache-2.0
// What generated spaces ask of a block and do with it.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Inlines a block into its consumers, or not; whether it was.
bool is_inlined(Schedule& schedule, BlockRV block);

/// True when some axis of a block reduces.
bool reduces(const Schedule& schedule, BlockRV block);

/// True of the loops around one block that hold nothing else, unless its instances run in order or
/// nothing is known of them.
bool is_of_block(const Schedule& schedule, LoopRV loop);

/// True when instances of a block run in order, or nothing is known of them.
bool runs_in_order(const Schedule& schedule, BlockRV block);

/// How many loops a block shares with others, from the outside.
std::size_t common_loops(const Schedule& schedule, const std::vector<LoopRV>& loops);

/// True when several results of a block are made of one element of what it reads: a tile of them
/// loads it once.
bool shares_reads(const Schedule& schedule, BlockRV block);

/// Which axes of a block a loop moves.
enum class AxisKind : std::uint8_t { spatial, reduction, mixed };

/// Spatial, too, where it moves none.
AxisKind axis_kind(const Schedule& schedule, BlockRV block, LoopRV loop);

/// The outermost loops of a consumer in which no result of a block is computed again.
std::vector<LoopRV> loops_without_repeats(Schedule& schedule, BlockRV block, BlockRV consumer);

/// Makes one loop of some; none where there is none, or where that is refused.
std::optional<LoopRV> fused(Schedule& schedule, const std::vector<LoopRV>& loops);

/// Vectorizes the innermost loop of a block, or a part of a long one.
void vectorize_innermost(Schedule& schedule, BlockRV block);

}  // namespace loopsmith::tune
