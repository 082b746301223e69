// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_rows.h"

#include <algorithm>

#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/schedule_columns.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/reorder.h"

namespace loopsmith {
namespace {

/// A nest of the group: its loops in the order that it takes, those over rows first.
struct RowNest {
  const Nest* nest;
  std::vector<NestLoop> loops;
  std::optional<Axis> along;  ///< The axis in vectors.
};

/// The order of a nest's loops: shared axes, other spatial ones, the reduction, `last`.
int place_of(const Axis& axis, const Nest& nest, std::size_t shared, const std::optional<Axis>& last) {
  if (!axis.var) return -1;
  for (std::size_t i = 0; i < shared; ++i) {
    if (axis.var.same_as(nest.axes[i].var)) return static_cast<int>(i);
  }
  const int size = static_cast<int>(nest.axes.size());
  if (last && axis.var.same_as(last->var)) return 3 * size;
  return axis.reduce ? 2 * size : size;
}

/// Looks up a nest and brings its loops into order.
std::optional<RowNest> ordered(Schedule& schedule, const Nest& nest, std::size_t shared) {
  RowNest row{&nest, {}, {}};
  if (nest.reduction().empty()) {
    row.along = contiguous_axis(nest);
  } else {
    row.along = row_reduction_of(nest)->axis;
  }
  auto loops = look_up_loops(schedule, nest);
  if (!loops) return {};
  row.loops = *std::move(loops);
  const auto place = [&](const NestLoop& each) {
    return place_of(each.axis, nest, shared, row.along);
  };
  if (!std::ranges::is_sorted(row.loops, {}, place)) {
    std::ranges::stable_sort(row.loops, {}, place);
    std::vector<LoopRV> order;
    for (const NestLoop& each : row.loops) order.push_back(each.loop);
    reorder(schedule, order);
  }
  return row;
}

bool is_reduction_of_rows(const Nest& nest, const CpuModel& machine) {
  return !nest.reduction().empty() && row_reduction_of(nest) && !is_packed(nest, machine);
}

/// Vectors pay only where they are filled.
bool fills_lanes(const Axis& axis, std::int64_t lanes) {
  return lanes > 1 && constant_extent(axis).value_or(lanes) >= lanes;
}

}  // namespace

bool schedule_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const CpuModel& machine = context.machine;
  if (subject.nests.empty()) return false;
  const bool is_single = subject.nests.size() == 1;
  const std::size_t shared = is_single ? subject.nests[0].spatial().size() : subject.shared;
  if (shared == 0) return false;
  for (const Nest& nest : subject.nests) {
    const bool is_elementwise = !is_single && nest.reduction().empty() && nest.streamed.empty();
    if (!is_elementwise && !is_reduction_of_rows(nest, machine)) return false;
  }
  if (is_single && belongs_to_columns(subject.nests[0], machine)) return false;

  std::vector<RowNest> rows;
  for (const Nest& nest : subject.nests) {
    auto row = ordered(schedule, nest, shared);
    if (!row || row->loops.size() < shared || !row->loops[0].axis.var) return false;
    rows.push_back(*std::move(row));
  }
  std::vector<LoopRV> bodies;  // The loops whose bodies are rows, of each nest.
  std::vector<Axis> outer;
  for (std::size_t i = 0; i < shared; ++i) outer.push_back(rows[0].loops[i].axis);
  for (RowNest& row : rows) {
    const LoopRV body = row.loops[shared - 1].loop;
    const std::int64_t lanes = lanes_of(*row.nest, machine);
    const BlockRV block = row.nest->block;
    if (!row.nest->reduction().empty() && fills_lanes(*row.along, lanes)) {
      const LaneShape shape = lane_shape(constant_extent(*row.along), lanes);
      const BlockRV partial = reduce_in_lanes(schedule, block, shape);
      bodies.push_back(get_loops(schedule, partial)[shared - 1]);
    }
    bodies.push_back(body);
    if (row.nest->reduction().empty() && row.along) {
      vectorize_by(schedule, row.loops.back().loop, constant_extent(*row.along), lanes, context);
    }
  }
  if (bodies.size() > 1) merge(schedule, bodies);
  if (is_worth_threads(subject.nests)) {
    const Handles<LoopRV> merged = get_loops(schedule, rows.back().nest->block);
    std::vector<NestLoop> threads;
    for (std::size_t i = 0; i < shared; ++i) threads.push_back({merged[i], outer[i]});
    parallelize(schedule, threads, context);
  }
  return true;
}

}  // namespace loopsmith
