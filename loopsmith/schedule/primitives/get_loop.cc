// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/get_loop.h"

namespace loopsmith {

Planned<GetLoopPlan> plan_get_loop(const Schedule& schedule, const GetLoopArguments& arguments) {
  const auto function = schedule.function_named(arguments.func_name);
  if (!function)
    return Refusal{&function_is_known, {Argument(arguments.func_name.value_or("main"))}};
  const auto found = schedule.loops_named(*function, arguments.name);
  if (found.empty()) return Refusal{&loop_has_the_name, {Argument(arguments.name)}};
  if (found.size() > 1) {
    return Refusal{&loop_name_is_unique,
                   {Argument(static_cast<std::int64_t>(found.size())), Argument(arguments.name)}};
  }
  return GetLoopPlan{found[0]};
}

LoopRV commit_get_loop(Schedule&, GetLoopPlan&& plan) {
  return plan.loop;
}

}  // namespace loopsmith
