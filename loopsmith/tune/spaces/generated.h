// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// A space for any program: its choices are samples, and what is refused is left out.
///
/// Blocks are visited from the last to the first, so that a block finds its consumers tiled.
/// Elementwise ones may be inlined; any may be computed at a loop of a consumer. Reductions are
/// tiled on several levels, may have a cache for their results and packed copies of what they read;
/// or they keep several partial results, as many as vectors have lanes, and some for each thread.
/// The others are tiled, made parallel and vectorized. Which of these is a sample. Loops without
/// blocks: plain_loop_space.h.
void generated_space(Schedule& schedule);

}  // namespace loopsmith::tune
