// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct GetBlockArguments {
  std::string name;
  std::optional<std::string> func_name = {};

  static constexpr std::tuple parameters{Parameter{"name", &GetBlockArguments::name},
                                         Parameter{"func_name", &GetBlockArguments::func_name}};
};

struct GetBlockPlan {
  BlockRV block;
};

inline constexpr Condition function_is_known{
    "name_is_known", "there is no function {}",
    "name the function with func_name, or choose it with work_on"};
inline constexpr Condition block_has_the_name{"name_is_known",
                                              "Cannot find a block with the name: {}",
                                              "get_child_blocks lists those of a block or loop"};
inline constexpr Condition block_name_is_unique{
    "name_is_unique", "Found {} blocks with the name: {}",
    "reach it from a neighbour, with get_child_blocks, get_producers or get_consumers"};
inline constexpr const Condition* get_block_conditions[] = {&function_is_known, &block_has_the_name,
                                                            &block_name_is_unique};

Planned<GetBlockPlan> plan_get_block(const Schedule& schedule, const GetBlockArguments& arguments);
BlockRV commit_get_block(Schedule& schedule, GetBlockPlan&& plan);

inline constexpr Primitive get_block(PrimitiveDefinition{
    .name = "get_block",
    .doc = "The block of that name.",
    .conditions = get_block_conditions,
    .pure = true,
    .plan = plan_get_block,
    .commit = commit_get_block,
});

}  // namespace loopsmith
