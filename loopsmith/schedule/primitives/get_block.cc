// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/get_block.h"

namespace loopsmith {

Planned<GetBlockPlan> plan_get_block(const Schedule& schedule, const GetBlockArguments& arguments) {
  const auto function = schedule.function_named(arguments.func_name);
  if (!function)
    return Refusal{&function_is_known, {Argument(arguments.func_name.value_or("main"))}};
  const auto found = schedule.blocks_named(*function, arguments.name);
  if (found.empty()) return Refusal{&block_has_the_name, {Argument(arguments.name)}};
  if (found.size() > 1) {
    return Refusal{&block_name_is_unique,
                   {Argument(static_cast<std::int64_t>(found.size())), Argument(arguments.name)}};
  }
  return GetBlockPlan{found[0]};
}

BlockRV commit_get_block(Schedule&, GetBlockPlan&& plan) {
  return plan.block;
}

}  // namespace loopsmith
