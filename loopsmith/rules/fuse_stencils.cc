// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/fuse_stencils.h"

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/stencil_group.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {
namespace {

/// Takes the steps for a group; false where its loops are not as expected.
bool take_strips(Schedule& schedule, const StencilGroup& group, const RuleContext& context) {
  const auto loops = look_up_loops(schedule, group.last.nest);
  if (!loops || loops->size() < 2) return false;
  const NestLoop& row = (*loops)[loops->size() - 2];
  if (!row.axis.var || !row.axis.var.same_as(group.last.row.var)) return false;
  const Factor rows = context.number(schedule, group.rows,
                                     {std::max<std::int64_t>(group.rows / 2, 1), group.rows * 2});
  const LoopRV strip = split(schedule, row.loop, {infer, rows})[0];
  std::vector<BlockRV> blocks;
  for (const StencilStage& stage : group.producers) {
    blocks.push_back(look_up(schedule, stage.nest.block));
    compute_at(schedule, blocks.back(), strip);
  }
  std::vector<NestLoop> outer(loops->begin(), loops->end() - 2);
  outer.push_back({strip, {}});
  if (context.has_threads()) {
    for (NestLoop& each : outer) {
      const For& loop = schedule.get(each.loop);
      each.axis = {.var = loop.loop_var, .min = loop.min, .extent = loop.extent};
    }
    parallelize(schedule, outer, context);
  }
  const auto in_vectors = [&](BlockRV block, std::int64_t lanes) {
    const LoopRV column = get_loops(schedule, block).back();
    const auto* extent = as_int(schedule.get(column).extent);
    vectorize_by(schedule, column, extent ? std::optional(*extent) : std::nullopt, lanes, context);
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) in_vectors(blocks[i], group.producers[i].lanes);
  in_vectors(group.last.nest.block, group.last.lanes);
  return true;
}

}  // namespace

bool fuse_stencils(Schedule& schedule, const RuleContext& context) {
  bool is_taken = false;
  for (const StencilGroup& group : stencil_groups(program_of(schedule), context.machine)) {
    const std::size_t before = schedule.steps().size();
    bool is_done = false;
    try {
      std::vector<Nest> nests{group.last.nest};
      for (const StencilStage& stage : group.producers) nests.push_back(stage.nest);
      is_done = take_strips(schedule, group, context.with_work_of(nests, *schedule.func()));
    } catch (const ScheduleError&) {  // Its steps are taken back.
    }
    if (!is_done) schedule.undo(schedule.steps().size() - before);
    is_taken = is_taken || is_done;
  }
  return is_taken;
}

}  // namespace loopsmith
