// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Takes steps for the loops of a function that have no blocks inside: the statements of a nest get
/// loops of their own where that frees a better order, the loop with the best strides comes
/// innermost, and runs in vectors; the outermost loop that may runs on several threads.
///
/// What is legal, the engine decides; a step that it refuses is left out. What pays is up to a model
/// of strides, trip counts and caches. True when a step was taken.
bool schedule_plain_loops(Schedule& schedule, const CpuModel& machine);

}  // namespace loopsmith
