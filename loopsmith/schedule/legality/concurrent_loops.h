// SPDX-License-Identifier: Apache-2.0
// Concurrent loops (parallel, vectorized, bound to threads), and later steps that must keep them
// legal.
#pragma once
#include <optional>

#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

struct RfactorPlan;

/// True where a reduction has the loop for one of its axes: what `rfactor` takes.
bool has_reduction_over(const Schedule& schedule, LoopRV loop);

/// Refuses partial results that are read as results, or that an init would come between.
std::optional<Refusal> refuse_by_order(const Schedule& schedule, RfactorPlan& plan);

/// True when it is a matter of the loops and blocks inside whether a loop may run its iterations
/// concurrently: they accumulate together, into partial results of threads, or are lanes with loops
/// that have other bounds in each.
bool has_loops_that_rest_on_inside(const Schedule& schedule);

/// Refuses the step from `before` to `after` when it introduces a dependence between iterations of
/// a concurrent loop. With `enclosed`, the step puts a block around that loop, and does nothing
/// else.
std::optional<Refusal> refuse_new_conflicts(const Schedule& before, const Schedule& after,
                                            std::optional<LoopRV> enclosed = {});

/// Refuses to replace a computation by an implementation where a concurrent loop reduces over it
/// and the implementation has no such reduction.
std::optional<Refusal> refuse_lost_reductions(const Schedule& described,
                                              const Schedule& implemented);

}  // namespace loopsmith
