// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/scheduled_by_rule.h"

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

Schedule scheduled_by_rule(const Ptr<PrimFunc>& func, const Target& target, bool leaves_holes,
                           const BuildOptions& options) {
  require(!target.is_gpu(), ErrorKind::schedule, "target_is_a_processor",
          hint("bind loops to threads by hand, or let build do it"), {},
          "default_schedule: target {} is a GPU, for which there are no rules that take steps",
          target.text());
  return default_schedule(func, cpu_model_of(target, options), leaves_holes);
}

}  // namespace loopsmith
