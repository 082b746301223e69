// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct AddUnitLoopArguments {
  BlockOrLoop block_or_loop;

  static constexpr std::tuple parameters{
      Parameter{"block_or_loop", &AddUnitLoopArguments::block_or_loop}};
};

struct AddUnitLoopPlan {
  BlockOrLoop subject;
};

inline constexpr const Condition* add_unit_loop_conditions[] = {&block_is_not_root};

Planned<AddUnitLoopPlan> plan_add_unit_loop(const Schedule& schedule,
                                            const AddUnitLoopArguments& arguments);

/// block C          =>   for u in 1:
///                         block C
LoopRV commit_add_unit_loop(Schedule& schedule, AddUnitLoopPlan&& plan);

inline constexpr Primitive add_unit_loop(PrimitiveDefinition{
    .name = "add_unit_loop",
    .doc = "Puts a loop of one iteration around a block or a loop.",
    .conditions = add_unit_loop_conditions,
    .keeps_accesses = true,
    .plan = plan_add_unit_loop,
    .commit = commit_add_unit_loop,
});

}  // namespace loopsmith
