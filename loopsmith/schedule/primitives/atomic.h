// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/loop_kinds.h"

namespace loopsmith {

struct AtomicArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &AtomicArguments::loop, "Whose iterations update elements in common."}};
};

inline constexpr const Condition* atomic_conditions[] = {
    &iterations_reach_their_end, &step_keeps_results, &updates_can_be_atomic};

Planned<LoopKindPlan> plan_atomic(const Schedule& schedule, const AtomicArguments& arguments);

/// for i in n: H[A[i]] += 1    =>    for i in parallel(n): H[A[i]] += 1, atomically
inline constexpr Primitive atomic(PrimitiveDefinition{
    .name = "atomic",
    .past = "parallelized with atomic updates",
    .doc = "Runs the iterations of a loop on several threads, which update the elements that they "
           "have in common atomically, without copies of their own.",
    .conditions = atomic_conditions,
    .keeps_accesses = true,
    .plan = plan_atomic,
    .commit = commit_loop_kind,
});

}  // namespace loopsmith
