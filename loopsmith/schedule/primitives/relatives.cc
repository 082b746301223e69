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
  const NodeId root = schedule.root(*function);
  if (schedule.at(root).object->kind == kind_of<For>) return LoopsPlan{{schedule.loop_at(root)}};
  return LoopsPlan{child_loops(schedule, root)};
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
  BlocksPlan plan{child_blocks(schedule, schedule.node(arguments.scope_block))};
  std::erase_if(plan.blocks, [&](BlockRV block) { return !is_output_block(schedule, block); });
  return plan;
}

Handles<BlockRV> commit_blocks(Schedule&, BlocksPlan&& plan) {
  return std::move(plan.blocks);
}

}  // namespace loopsmith
