// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_rows.h"

#include <algorithm>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/reorder.h"

namespace loopsmith {

bool schedule_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1 || subject.nests[0].reduction().empty()) return false;
  const Nest& nest = subject.nests[0];
  const auto reduction = row_reduction_of(nest);
  if (!reduction || is_packed(nest, context.machine)) return false;
  const auto extent = constant_extent(reduction->axis);
  const auto results = point_count(nest.spatial());
  const LaneShape shape = lane_shape(extent, lanes_of(nest, context.machine));
  if (!results || *results <= 1 || !is_for_lanes(extent, shape)) return false;

  auto found = look_up_loops(schedule, nest);
  if (!found) return false;
  std::vector<NestLoop>& loops = *found;
  const auto place = [&](const NestLoop& each) {
    if (!each.axis.reduce) return 0;
    return each.axis.var.same_as(reduction->axis.var) ? 2 : 1;
  };
  if (!std::ranges::is_sorted(loops, {}, place)) {
    std::ranges::stable_sort(loops, {}, place);
    std::vector<LoopRV> order;
    for (const NestLoop& each : loops) order.push_back(each.loop);
    reorder(schedule, order);
  }
  std::erase_if(loops, [](const NestLoop& each) { return each.axis.reduce; });
  if (loops.empty()) return false;
  const BlockRV partial = reduce_in_lanes(schedule, nest.block, shape);
  merge(schedule, {get_loops(schedule, partial)[loops.size() - 1], loops.back().loop});
  if (!is_worth_threads(subject.nests)) return true;
  const Handles<LoopRV> rows = get_loops(schedule, nest.block);
  for (std::size_t i = 0; i < loops.size(); ++i) loops[i].loop = rows[i];
  parallelize(schedule, loops, context);
  return true;
}

}  // namespace loopsmith
