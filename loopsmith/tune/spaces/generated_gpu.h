// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"
#include "loopsmith/tune/spaces/block_rule.h"

namespace loopsmith::tune {

/// A space for any program on a GPU: blocks and threads, tiles in shared memory and in registers.
///
/// Blocks are visited from the last to the first. Elementwise ones may be inlined, the others get a
/// thread for each of some elements. Reductions with elements enough are tiled: a block of threads
/// computes a tile of results, each thread a few of them in registers, from parts of the operands
/// that the threads copy into shared memory together, or from where they lie. Or the threads of a
/// block reduce parts of one element. Which of these, and all numbers, are samples. Loops without
/// blocks are bound where dependence allows. What is bound by none of these is as by default.
///
/// Throws a ScheduleError where what was drawn leaves an obligation open.
void generated_space_for_gpu(Schedule& schedule);
/// The same, where each of some rules is another way to schedule a block.
void generated_space_for_gpu_with(Schedule& schedule, const std::vector<BlockRule>& rules);

}  // namespace loopsmith::tune
