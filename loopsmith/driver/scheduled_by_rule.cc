// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/scheduled_by_rule.h"

#include "loopsmith/driver/native_arch.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/default_schedule.h"
#include "loopsmith/rules/gpu/schedule_for_gpu.h"

namespace loopsmith {

Schedule scheduled_by_rule(const Ptr<PrimFunc>& func, const Target& target, bool leaves_holes,
                           const BuildOptions& options) {
  if (target.is_gpu())
    return schedule_for_gpu(func, gpu_limits(with_native_arch(target)), leaves_holes);
  return default_schedule(func, cpu_model_of(target, options), leaves_holes);
}

}  // namespace loopsmith
