// SPDX-License-Identifier: Apache-2.0
// Conditions that several primitives share, with what checks them.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition loop_is_plain{
    "loop_is_plain", "loop {} has annotations or is bound to a thread",
    "do this before you annotate or bind it, or unannotate it first"};
inline constexpr Condition loop_runs_to_its_end{
    "loop_runs_to_its_end", "a break leaves loop {}",
    "rewrite the break as a condition on the loop's body"};

/// Refuses a loop with annotations or a thread.
std::optional<Refusal> refuse_unless_plain(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
