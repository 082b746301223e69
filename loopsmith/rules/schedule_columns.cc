// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_columns.h"

#include <algorithm>

#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/register_tile.h"
#include "loopsmith/rules/split_reduction.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// Of results that wait in registers: more lines of each row at once; fewer do not hide the latency
/// of an addition.
constexpr std::int64_t max_vectors = 8;
constexpr std::int64_t min_vectors = 4;

/// How many vectors make tiles that cover so many; nothing where none does.
std::optional<std::int64_t> vectors_of_tile(std::int64_t all, const CpuModel& machine) {
  // The others are for what is loaded.
  const std::int64_t most = std::min<std::int64_t>(max_vectors, machine.vector_registers / 2);
  for (std::int64_t vectors = most; vectors >= std::min(min_vectors, all); --vectors) {
    if (all % vectors == 0) return vectors;
  }
  return {};
}

/// The axis of columns, where all that is accessed lies along it or does not move.
std::optional<Axis> columns_of(const Nest& nest) {
  const std::optional<Axis> along = contiguous_axis(nest);
  if (!along || along->reduce || row_axis_of(nest, *along)) return {};
  const bool is_across = std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, along->var) == Stride::other;
  });
  return is_across ? std::nullopt : along;
}

void put_in_vectors(Schedule& schedule, BlockRV block) {
  const Handles<LoopRV> loops = get_loops(schedule, block);
  unroll(schedule, loops[loops.size() - 2]);
  vectorize(schedule, loops.back());
}

}  // namespace

bool schedule_columns(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const CpuModel& machine = context.machine;
  const auto points = point_count(nest.axes);
  if (nest.reduction().empty() || !points || *points == 0 || !nest.streamed.empty()) return false;
  const std::optional<Axis> along = columns_of(nest);
  const std::int64_t lanes = lanes_of(nest, machine);
  if (!along || lanes <= 1 || is_packed(nest, machine) || split_reduction(nest, machine)) {
    return false;
  }
  const std::int64_t columns = *constant_extent(*along);
  if (columns % lanes != 0) return false;
  const auto vectors = vectors_of_tile(columns / lanes, machine);
  if (!vectors) return false;

  const auto found = look_up_loops(schedule, nest);
  if (!found) return false;
  std::vector<NestLoop> tasks;
  std::vector<LoopRV> steps;
  std::optional<LoopRV> across;
  for (const NestLoop& each : *found) {
    if (each.axis.reduce) {
      steps.push_back(each.loop);
    } else if (each.axis.var.same_as(along->var)) {
      across = each.loop;
    } else {
      tasks.push_back(each);
    }
  }
  if (!across || steps.empty()) return false;
  const auto [tile, vector, lane] = split(schedule, *across, {infer, *vectors, lanes}).take<3>();
  tasks.push_back(
      {tile, {schedule.get(tile).loop_var, schedule.get(tile).min, schedule.get(tile).extent}});
  std::vector<LoopRV> order;
  for (const NestLoop& each : tasks) order.push_back(each.loop);
  order.insert(order.end(), steps.begin(), steps.end());
  order.insert(order.end(), {vector, lane});
  reorder(schedule, order);
  const BlockRV start = decompose_reduction(schedule, nest.block, steps[0]);
  if (is_worth_threads(subject.nests)) parallelize(schedule, tasks, context);
  put_in_vectors(schedule, start);
  put_in_vectors(schedule, nest.block);
  return true;
}

}  // namespace loopsmith
