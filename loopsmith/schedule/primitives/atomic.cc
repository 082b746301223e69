// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/atomic.h"

#include "loopsmith/ir/atomics.h"

namespace loopsmith {

Planned<LoopKindPlan> plan_atomic(const Schedule& schedule, const AtomicArguments& arguments) {
  auto planned = plan_parallel(schedule, {.loop = arguments.loop});
  if (auto* plan = std::get_if<LoopKindPlan>(&planned)) plan->is_atomic = true;
  return planned;
}

Nothing commit_atomic(Schedule& schedule, LoopKindPlan&& plan) {
  const LoopRV loop = plan.loop;
  commit_loop_kind(schedule, std::move(plan));
  For& edited = schedule.edit(loop);
  edited.annotations = edited.annotations.with(std::string(atomic_updates_key), Expr(1));
  return {};
}

}  // namespace loopsmith
