// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations run at once, and the steps that come after they were made so.
#pragma once
#include <optional>

#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// True when lowering can give a reduction over a loop partial results, so that its iterations may
/// run so.
bool has_partial_results(const Schedule& schedule, LoopRV loop, Concurrency how);

/// True when the reduction that a loop carries may run so: with partial results, or by
/// atomic updates.
bool may_reduce_concurrently(const Schedule& schedule, LoopRV loop, Concurrency how,
                             const CarriedDependences& carries);

/// Refuses the step from `before` to `after` when a loop that runs its iterations at once may not
/// do so any more.
std::optional<Refusal> refuse_new_conflicts(const Schedule& before, const Schedule& after);

/// Refuses to put an implementation in the place of what it does where a loop that runs its
/// iterations at once combines their values, and can no longer do so.
std::optional<Refusal> refuse_lost_reductions(const Schedule& described,
                                              const Schedule& implemented);

}  // namespace loopsmith
