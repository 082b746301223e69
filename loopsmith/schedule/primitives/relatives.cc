// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/relatives.h"

#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

Planned<BlocksPlan> plan_get_child_blocks(const Schedule& schedule,
                                          const ChildBlocksArguments& arguments) {
  return BlocksPlan{child_blocks(schedule, schedule.node(arguments.block_or_loop))};
}

Planned<LoopsPlan> plan_get_child_loops(const Schedule& schedule,
                                        const ChildLoopsArguments& arguments) {
  if (arguments.block_or_loop) {
    return LoopsPlan{child_loops(schedule, schedule.node(*arguments.block_or_loop))};
  }
  const auto function = schedule.function_named(arguments.func_name);
  if (!function) {
    return Refusal{&function_is_known, {Argument(arguments.func_name.value_or("main"))}};
  }
  NodeId place = schedule.root(*function);
  // Of a function that is one block, as where it allocates memory: those in the block.
  const NodeId only = schedule.at(place).first_child;
  const bool is_in_block = only != no_node && schedule.at(only).next == no_node &&
                           schedule.at(only).object->kind == kind_of<BlockRealize>;
  if (is_in_block) place = only;
  if (schedule.at(place).object->kind == kind_of<For>) return LoopsPlan{{schedule.loop_at(place)}};
  return LoopsPlan{child_loops(schedule, place)};
}

Handles<LoopRV> commit_loops(Schedule&, LoopsPlan&& plan) {
  return std::move(plan.loops);
}

Planned<BlocksPlan> plan_get_producers(const Schedule& schedule,
                                       const RelativesArguments& arguments) {
  return BlocksPlan{producers_of(schedule, arguments.block)};
}

Planned<BlocksPlan> plan_get_consumers(const Schedule& schedule,
                                       const RelativesArguments& arguments) {
  return BlocksPlan{consumers_of(schedule, arguments.block)};
}

Planned<BlocksPlan> plan_get_output_blocks(const Schedule& schedule,
                                           const OutputBlocksArguments& arguments) {
  BlocksPlan plan;
  const auto add_inside = [&](const auto& self, NodeId scope) -> void {
    for (const BlockRV block : child_blocks(schedule, scope)) {
      if (is_output_block(schedule, block)) plan.blocks.push_back(block);
      self(self, schedule.node(block));
    }
  };
  add_inside(add_inside, schedule.node(arguments.scope_block));
  return plan;
}

Handles<BlockRV> commit_blocks(Schedule&, BlocksPlan&& plan) {
  return std::move(plan.blocks);
}

}  // namespace loopsmith
