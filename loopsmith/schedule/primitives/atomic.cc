// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/atomic.h"

#include "loopsmith/schedule/legality/atomic_updates.h"

namespace loopsmith {

Planned<LoopKindPlan> plan_atomic(const Schedule& schedule, const AtomicArguments& arguments) {
  if (!updates_atomically(schedule, arguments.loop)) {
    return Refusal{&updates_can_be_atomic, {Argument(arguments.loop)}};
  }
  return plan_parallel(schedule, {.loop = arguments.loop});
}

Nothing commit_atomic(Schedule& schedule, LoopKindPlan&& plan) {
  const LoopRV loop = plan.loop;
  commit_loop_kind(schedule, std::move(plan));
  For& edited = schedule.edit(loop);
  edited.annotations = edited.annotations.with(std::string(atomic_updates_key), Expr(1));
  return {};
}

}  // namespace loopsmith
