// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct ReorderBlockIterVarArguments {
  BlockRV block;
  std::vector<std::int64_t> new_order;

  static constexpr std::tuple parameters{
      Parameter{"block", &ReorderBlockIterVarArguments::block},
      Parameter{"new_order", &ReorderBlockIterVarArguments::new_order,
                "For each place, the place where its axis has been."}};
};

struct ReorderBlockIterVarPlan {
  BlockRV block;
  std::vector<std::int64_t> order;
};

inline constexpr Condition order_is_a_permutation{
    "arguments_fit", "[{}] is no permutation of the {} axes of block {}",
    "name each axis once, counted from 0"};
inline constexpr const Condition* reorder_block_iter_var_conditions[] = {&order_is_a_permutation};

Planned<ReorderBlockIterVarPlan> plan_reorder_block_iter_var(
    const Schedule& schedule, const ReorderBlockIterVarArguments& arguments);
Nothing commit_reorder_block_iter_var(Schedule& schedule, ReorderBlockIterVarPlan&& plan);

inline constexpr Primitive reorder_block_iter_var(PrimitiveDefinition{
    .name = "reorder_block_iter_var",
    .doc = "Lists the axes of a block in another order.",
    .conditions = reorder_block_iter_var_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_reorder_block_iter_var,
    .commit = commit_reorder_block_iter_var,
});

}  // namespace loopsmith
