// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/look_up.h"

#include <algorithm>

#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

BlockRV look_up(Schedule& schedule, BlockRV block) {
  const std::string name(schedule.name(block));
  if (schedule.blocks_named(*schedule.function_named(), name).size() == 1) {
    return get_block(schedule, name);
  }
  const auto around = block_around(schedule, schedule.node(block));
  const auto blocks =
      get_child_blocks(schedule, get_block(schedule, std::string(schedule.name(*around))));
  return *std::ranges::find_if(blocks, [&](BlockRV other) { return other.index == block.index; });
}

std::optional<std::vector<NestLoop>> look_up_loops(Schedule& schedule, const Nest& nest) {
  const BlockRV block = nest.block;
  const Handles<LoopRV> around = loops_around(schedule, schedule.node(block));
  if (!around.empty() && child_blocks(schedule, schedule.node(around[0])).size() != 1) return {};
  const BlockRealize& realize = schedule.realize(block);
  std::vector<NestLoop> loops;
  for (const LoopRV loop : get_loops(schedule, look_up(schedule, block))) {
    const Ptr<Var>& variable = schedule.get(loop).loop_var;
    NestLoop found{loop, {.var = nullptr, .min = schedule.get(loop).min, .extent = 1}};
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (!realize.iter_values[i].same_as(variable)) continue;
      const Ptr<Var>& axis = realize.block->iter_vars[i]->var;
      found.axis = *std::ranges::find_if(
          nest.axes, [&](const Axis& other) { return other.var.same_as(axis); });
    }
    loops.push_back(std::move(found));
  }
  return loops;
}

}  // namespace loopsmith
