// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/conditions.h"

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/regroups.h"

namespace loopsmith {

std::optional<Refusal> refuse_unless_plain(const Schedule& schedule, LoopRV loop) {
  const For& target = schedule.get(loop);
  if (!is_annotated(target) && !target.thread_binding) return {};
  return Refusal{&loop_is_plain, {Argument(loop)}};
}

std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop) {
  return refuse_unless_bounds_stay(schedule, loop, loop);
}

std::optional<Refusal> refuse_unless_bounds_stay(const Schedule& schedule, LoopRV loop,
                                                 LoopRV other) {
  const For& target = schedule.get(loop);
  for (const Expr* bound : {&target.min, &target.extent, &target.step}) {
    if (!bound->is<IntImm>() && may_change(*bound, schedule.get(other).body)) {
      return changed_results(bounds_stay, {Argument(loop), Argument(other)});
    }
  }
  return {};
}

Refusal in_terms_of(LoopRV loop, Refusal refusal) {
  for (Argument& subject : refusal.subjects) {
    if (subject.as<LoopRV>() || subject.as<BlockRV>()) subject = Argument(loop);
  }
  return refusal;
}

}  // namespace loopsmith
