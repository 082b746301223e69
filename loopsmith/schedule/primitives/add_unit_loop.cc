// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/add_unit_loop.h"

namespace loopsmith {

Planned<AddUnitLoopPlan> plan_add_unit_loop(const Schedule& schedule,
                                            const AddUnitLoopArguments& arguments) {
  const auto* block = std::get_if<BlockRV>(&arguments.block_or_loop);
  if (block && schedule.at(schedule.at(schedule.node(*block)).parent).parent == no_node) {
    return Refusal{&block_is_not_root, {Argument(*block)}};
  }
  return AddUnitLoopPlan{arguments.block_or_loop};
}

LoopRV commit_add_unit_loop(Schedule& schedule, AddUnitLoopPlan&& plan) {
  const NodeId node = schedule.node(plan.subject);
  const Ptr<Var> u = var(schedule.fresh_loop_name(schedule.function_of(node), "u"));
  const NodeId made = schedule.replace(node, for_loop(u, 0, 1, schedule.statement(node)));
  return schedule.loop_at(made);
}

}  // namespace loopsmith
