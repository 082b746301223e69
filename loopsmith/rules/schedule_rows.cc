// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_rows.h"

#include <algorithm>

#include "loopsmith/rules/lane_strides.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/merge.h"

namespace loopsmith {
namespace {

/// Vectors of results take less time for shorter rows: what is up to four elements apart is loaded
/// whole and shuffled.
constexpr std::int64_t shortest_row = 5;

/// By measurement, lanes chosen of lines are faster than partial results where a row and the stride
/// of results cover fewer elements than this, and than two vectors.
constexpr std::int64_t max_line_elements = 32;

/// True when results lie beside each other where what is reduced does, too: vectors of results need
/// no partial ones. Of short rows, also where that lies a few elements apart.
bool walks_across_results(const Nest& nest, std::optional<std::int64_t> extent,
                          std::int64_t lanes) {
  const std::optional<Axis> along = contiguous_axis(nest);
  if (!along) return false;
  const auto stride = stride_in_lines(nest, *along);
  if (stride && extent && *extent * *stride < std::min(2 * lanes, max_line_elements)) return true;
  return std::ranges::none_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, along->var) == Stride::other;
  });
}

}  // namespace

bool schedule_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const auto reduction = row_reduction_of(nest);
  if (!reduction || point_count(nest.spatial()) == 1 || is_packed(nest, context.machine)) {
    return false;
  }
  const auto extent = constant_extent(reduction->axis);
  const LaneShape shape = lane_shape(extent, lanes_of(nest, context.machine));
  if (extent.value_or(shortest_row) < shortest_row || shape.lanes <= 1 ||
      walks_across_results(nest, extent, shape.lanes)) {
    return false;
  }

  auto found = loops_with_row_innermost(schedule, nest, reduction->axis);
  if (!found) return false;
  std::vector<NestLoop>& loops = *found;
  std::erase_if(loops, [](const NestLoop& each) { return each.axis.reduce; });
  if (loops.empty()) return false;
  const LaneReduction lanes = reduce_in_lanes(schedule, nest.block, shape);
  merge(schedule, {get_loops(schedule, lanes.partial)[loops.size() - 1], loops.back().loop});
  vectorize_lanes(schedule, lanes);
  if (!context.has_threads()) return true;
  const Handles<LoopRV> rows = get_loops(schedule, nest.block);
  for (std::size_t i = 0; i < loops.size(); ++i) loops[i].loop = rows[i];
  parallelize(schedule, loops, context);
  return true;
}

}  // namespace loopsmith
