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

Space generated_for(const Target& target, const std::vector<BlockRule>& rules) {
  Space space = target.is_gpu() ? generated_for_gpu() : generated();
  if (rules.empty()) return space;
  space.steps = [rules, is_gpu = target.is_gpu()](Schedule& schedule) {
    is_gpu ? generated_space_for_gpu_with(schedule, rules) : generated_space_with(schedule, rules);
  };
  space.is_concurrent = false;
  for (const BlockRule& rule : rules) {
    const bool is_named = !space.name.empty() && !rule.name.empty();
    space.name = is_named ? space.name + ", " + rule.name : "";
  }
  return space;
}

Space with_default(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options,
                   const std::vector<BlockRule>& rules) {
  Space space = generated_for(target, rules);
  try {
    const tir::Schedule schedule = tir::default_schedule(func, target, true, options);
    return either(schedule.engine().trace(), std::move(space));
  } catch (const UserError& error) {
    if (error.kind() != ErrorKind::schedule) throw;
    return space;
  }
}

Space own_space(const Ptr<PrimFunc>& func, const Target& target, const BuildOptions& options,
                Numerics numerics, const std::vector<BlockRule>& rules) {
  if (numerics != Numerics::free) return generated_for(target, rules);
  return with_default(func, target, options, rules);
}

}  // namespace loopsmith::tune
