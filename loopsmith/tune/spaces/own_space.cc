// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/own_space.h"

#include "loopsmith/driver/schedule.h"
#include "loopsmith/schedule/schedule.h"
#include "loopsmith/support/user_error.h"
#include "loopsmith/tune/spaces/generated.h"
#include "loopsmith/tune/spaces/generated_gpu.h"

namespace loopsmith::tune {

Space generated() {
  return {.steps = generated_space, .name = "generated", .is_concurrent = true};
}

Space generated_for_gpu() {
  return {.steps = generated_space_for_gpu, .name = "generated for GPUs", .is_concurrent = true};
}

Space generated_for(const Target& target) {
  return target.is_gpu() ? generated_for_gpu() : generated();
}

Space with_default(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options) {
  Space space = generated_for(target);
  try {
    const tir::Schedule schedule = tir::default_schedule(func, target, true, options);
    return either(schedule.engine().trace(), std::move(space));
  } catch (const UserError& error) {
    if (error.kind() != ErrorKind::schedule) throw;
    return space;
  }
}

Space own_space(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options,
                Numerics numerics) {
  if (numerics != Numerics::free) return generated_for(target);
  return with_default(func, target, options);
}

}  // namespace loopsmith::tune
