// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/reduce_in_threads.h"

#include "loopsmith/rules/gpu/bind_elements.h"

namespace loopsmith::gpu {

bool reduce_in_threads(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  return schedule.get(subject.blocks[0]).init && bind_elements(schedule, subject, context);
}

}  // namespace loopsmith::gpu
