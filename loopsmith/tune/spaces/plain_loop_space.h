// SPDX-License-Identifier: Apache-2.0
// The generated space of loops that are not of one block: recurrences, sweeps, updates, conditions,
// nests that several blocks share.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Takes one of some ways to run a loop in parallel or in vectors, or none.
///
/// The loop may be brought into normal form or distributed over its statements first; then each
/// part is a scan of several threads, a wavefront, parallel with or without chunks, interchanged,
/// or left as it is. Innermost loops may become vectors; loops of one block are left to its own
/// space. What is legal, the dependences decide: a step that is refused is left out.
void plain_loop_space(Schedule& schedule, LoopRV loop);

}  // namespace loopsmith::tune
