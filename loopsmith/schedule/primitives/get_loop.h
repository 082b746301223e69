// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/get_block.h"

namespace loopsmith {

struct GetLoopArguments {
  std::string name;
  std::optional<std::string> func_name = {};

  static constexpr std::tuple parameters{Parameter{"name", &GetLoopArguments::name},
                                         Parameter{"func_name", &GetLoopArguments::func_name}};
};

struct GetLoopPlan {
  LoopRV loop;
};

inline constexpr Condition loop_has_the_name{"name_is_known", "no loop is called {}",
                                             "get_loops lists those around a block"};
inline constexpr Condition loop_name_is_unique{"name_is_unique", "{} loops are called {}",
                                               "name the block, too: get_loops(block, name)"};
inline constexpr const Condition* get_loop_conditions[] = {&function_is_known, &loop_has_the_name,
                                                           &loop_name_is_unique};

Planned<GetLoopPlan> plan_get_loop(const Schedule& schedule, const GetLoopArguments& arguments);
LoopRV commit_get_loop(Schedule& schedule, GetLoopPlan&& plan);

inline constexpr Primitive get_loop(PrimitiveDefinition{
    .name = "get_loop",
    .doc = "The loop of that name.",
    .conditions = get_loop_conditions,
    .pure = true,
    .plan = plan_get_loop,
    .commit = commit_get_loop,
});

}  // namespace loopsmith
