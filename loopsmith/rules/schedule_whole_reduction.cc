// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_whole_reduction.h"

#include <algorithm>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// Cuts a loop into so many parts; of a constant extent, into parts of whole vectors.
std::array<LoopRV, 2> cut(Schedule& schedule, LoopRV loop, std::optional<std::int64_t> extent,
                          std::int64_t grain) {
  if (!extent) return split(schedule, loop, {part_count, infer}).take<2>();
  const std::int64_t size = (*extent + part_count * grain - 1) / (part_count * grain) * grain;
  return split(schedule, loop, {infer, std::max<std::int64_t>(size, 1)}).take<2>();
}

}  // namespace

bool schedule_whole_reduction(Schedule& schedule, const Subject& subject,
                              const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const auto results = point_count(nest.spatial());
  const auto reduction = row_reduction_of(nest);
  if (!results || *results != 1 || !reduction || is_packed(nest, context.machine)) return false;
  const auto extent = constant_extent(reduction->axis);
  const LaneShape shape = lane_shape(extent, lanes_of(nest, context.machine));
  if (shape.lanes <= 1) return false;
  const auto found = loops_with_row_innermost(schedule, nest, reduction->axis);
  if (!found) return false;
  const std::vector<NestLoop>& loops = *found;
  const auto first = std::ranges::find_if(loops, [](const auto& each) { return each.axis.reduce; });
  // Loops of one iteration, over the results.
  const auto units = static_cast<std::size_t>(first - loops.begin());
  if (!context.has_threads()) {
    vectorize_lanes(schedule, reduce_in_lanes(schedule, nest.block, shape));
    return true;
  }
  const std::int64_t grain = first + 1 == loops.end() ? shape.lanes * shape.chains : 1;
  const auto [part, rest] = cut(schedule, first->loop, constant_extent(first->axis), grain);
  static_cast<void>(rest);
  const BlockRV parts = rfactor(schedule, part, 0);
  const LoopRV around = get_loops(schedule, parts)[units];
  const LaneReduction lanes = reduce_in_lanes(schedule, parts, shape);
  merge(schedule, {get_loops(schedule, lanes.partial)[units], around});
  vectorize_lanes(schedule, lanes);
  run_in_threads(schedule, get_loops(schedule, parts)[units], context);
  return true;
}

}  // namespace loopsmith
