// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations run at once, and the steps that come after they were made so.
#pragma once
#include <optional>

#include "loopsmith/schedule/legality.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition loops_at_once_stay_right{
    "loops_at_once_stay_right",
    "iterations of loop {}, which is {}, would depend on each other, or it is not known that they "
    "do not",
    "take this step first, then parallelize, vectorize or bind the loop"};
inline constexpr Condition threads_share_out_fills{
    "threads_share_out_fills",
    "loop {}, bound to {} inside of loop {}, which is so, too, would not only fill memory that all "
    "these threads fill alike",
    "take this step first, then bind the loop"};

/// True when lowering can give a reduction over a loop partial results, so that its iterations may
/// run so.
bool has_partial_results(const Schedule& schedule, LoopRV loop, AtOnce how);

/// Refuses the step from `before` to `after` when a loop that runs its iterations at once may not
/// do so any more.
std::optional<Refusal> refuse_new_conflicts(const Schedule& before, const Schedule& after);

/// Refuses to put an implementation in the place of what it does where a loop that runs its
/// iterations at once combines their values, and can no longer do so.
std::optional<Refusal> refuse_lost_reductions(const Schedule& described,
                                              const Schedule& implemented);

}  // namespace loopsmith
