// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/conditions.h"

namespace loopsmith {

std::optional<Refusal> refuse_unless_plain(const Schedule& schedule, LoopRV loop) {
  const For& target = schedule.get(loop);
  if (target.annotations.empty() && !target.thread_binding) return {};
  return Refusal{&loop_is_plain, {Argument(loop)}};
}

}  // namespace loopsmith
