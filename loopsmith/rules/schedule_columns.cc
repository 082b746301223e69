// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_columns.h"

#include <algorithm>

#include "loopsmith/rules/combination.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/register_tile.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {

bool belongs_to_columns(const Nest& nest, const CpuModel& machine) {
  const std::optional<Axis> along = contiguous_axis(nest);
  if (!along || nest.reduction().empty()) return false;
  const std::int64_t lanes = lanes_of(nest, machine);
  const std::optional<RowReduction> by_row = row_reduction_of(nest);
  const bool fills_lanes = by_row && constant_extent(by_row->axis).value_or(lanes) >= lanes;
  const bool is_strided = std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, along->var) == Stride::other;
  });
  return !(is_strided && fills_lanes);
}

bool schedule_columns(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const CpuModel& machine = context.machine;
  if (subject.nests.size() != 1 || is_packed(subject.nests[0], machine) ||
      !belongs_to_columns(subject.nests[0], machine)) {
    return false;
  }
  const Nest& nest = subject.nests[0];
  const Axis along = *contiguous_axis(nest);
  if (row_axis_of(nest, along) || !combination_of(nest)) return false;
  auto loops = look_up_loops(schedule, nest);
  if (!loops) return false;
  const RegisterTile tile =
      choose_register_tile(nest, {}, along, lanes_of(nest, machine), machine);

  const BlockRV block = nest.block;
  const BlockRV copy = cache_write(schedule, block, 0, "local");
  std::vector<NestLoop> tasks;
  std::vector<LoopRV> order, steps;
  LoopRV columns;
  for (const NestLoop& each : *loops) {
    const bool is_column = each.axis.var && each.axis.var.same_as(along.var);
    if (is_column) {
      columns = each.loop;
    } else if (each.axis.reduce) {
      steps.push_back(each.loop);
    } else {
      tasks.push_back(each);
    }
  }
  const auto [blocks, column] = split(schedule, columns, {infer, tile.width()}).take<2>();
  for (const NestLoop& each : tasks) order.push_back(each.loop);
  order.push_back(blocks);
  order.insert(order.end(), steps.begin(), steps.end());
  order.push_back(column);
  reorder(schedule, order);
  reverse_compute_at(schedule, copy, blocks);
  const BlockRV start = decompose_reduction(schedule, block, steps[0]);
  const LaneShape shape{.lanes = tile.lanes, .chains = tile.vectors};
  for (const BlockRV each : {start, block, copy}) put_in_lanes(schedule, each, shape);
  if (is_worth_threads(subject.nests)) {
    const For& over = schedule.get(blocks);
    tasks.push_back({blocks, {over.loop_var, over.min, over.extent}});
    parallelize(schedule, tasks, context);
  }
  return true;
}

}  // namespace loopsmith
