// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/spaces/block_rule.h"

namespace loopsmith::tune {

/// A space for any program: its choices are samples, and what is refused is left out.
///
/// Blocks are visited from the last to the first, so that a block finds its consumers tiled.
/// Elementwise ones may be inlined; any may be computed at a loop of a consumer. Reductions are
/// tiled on several levels, may have a cache for their results and packed copies of what they read;
/// or they keep several partial results, as many as vectors have lanes, and some for each thread;
/// or a tensor intrinsic for dot products of their types computes them, from a copy in its layout.
/// The others are tiled, made parallel and vectorized. Which of these is a sample. Loops without
/// blocks: plain_loop_space.h.
void generated_space(Schedule& schedule);
/// The same, where each of some rules is another way to schedule a block.
void generated_space_with(Schedule& schedule, const std::vector<BlockRule>& rules);

}  // namespace loopsmith::tune
