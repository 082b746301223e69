// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/rule.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Takes steps for an outermost loop of a function that has no blocks inside: the statements of the
/// nest get loops of their own where that frees a better order, the loop with the best strides
/// comes innermost, and runs in vectors; the outermost loop that may runs on several threads.
///
/// What is legal, the engine decides; a step that it refuses is left out. What pays is up to a
/// model of strides, trip counts and caches. True when the program was changed.
bool schedule_plain_nest(Schedule& schedule, LoopRV nest, const plain_loops::Machine& machine);

/// The rule of it: for a subject that is a loop without blocks.
bool schedule_plain_loops(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
