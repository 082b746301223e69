// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/atomic.h"

namespace loopsmith {

Planned<LoopKindPlan> plan_atomic(const Schedule& schedule, const AtomicArguments& arguments) {
  auto planned = plan_parallel(schedule, {.loop = arguments.loop});
  if (auto* plan = std::get_if<LoopKindPlan>(&planned)) plan->is_atomic = true;
  return planned;
}

}  // namespace loopsmith
