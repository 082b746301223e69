// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/reduce_in_lanes.h"

#include <algorithm>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/merge.h"
#include "loopsmith/schedule/primitives/redefine_buffer.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// The outermost loop of the block's reduction.
LoopRV first_of_reduction(const Schedule& schedule, BlockRV block, const Handles<LoopRV>& loops) {
  return *std::ranges::find_if(loops, [&](LoopRV loop) {
    return arith::is_reduction_loop(schedule.realize(block), schedule.get(loop).loop_var);
  });
}

/// Puts the last loop of a block, which has as many iterations as the shape has lanes, into
/// vectors.
void put_in_lanes(Schedule& schedule, BlockRV block, LaneShape shape) {
  LoopRV lane = get_loops(schedule, block).back();
  if (shape.chains > 1) {
    const auto [chain, inner] = split(schedule, lane, {shape.chains, shape.lanes}).take<2>();
    unroll(schedule, chain);
    lane = inner;
  }
  vectorize(schedule, lane);
}

}  // namespace

std::optional<std::vector<NestLoop>> loops_with_row_innermost(Schedule& schedule, const Nest& nest,
                                                              const Axis& row) {
  auto loops = look_up_loops(schedule, nest);
  const auto place = [&](const NestLoop& each) {
    if (!each.axis.reduce) return 0;
    return each.axis.var.same_as(row.var) ? 2 : 1;
  };
  if (!loops || std::ranges::is_sorted(*loops, {}, place)) return loops;
  std::ranges::stable_sort(*loops, {}, place);
  std::vector<LoopRV> order;
  for (const NestLoop& each : *loops) order.push_back(each.loop);
  reorder(schedule, order);
  return loops;
}

LaneShape lane_shape(std::optional<std::int64_t> extent, std::int64_t lanes) {
  std::int64_t chains = max_chains;
  while (extent && chains > 1 && *extent < 2 * chains * lanes) chains /= 2;
  return {.lanes = lanes, .chains = chains};
}

LaneReduction reduce_in_lanes(Schedule& schedule, BlockRV block, LaneShape shape,
                              std::optional<LoopRV> producer) {
  const LoopRV row = get_loops(schedule, block).back();
  const auto [steps, lane] = split(schedule, row, {infer, shape.chains * shape.lanes}).take<2>();
  static_cast<void>(steps);
  const BlockRV partial = rfactor(schedule, lane, 0);
  const std::size_t targets = schedule.get(partial).writes.size();
  for (std::size_t i = 0; i < targets; ++i) {
    set_scope(schedule, partial, static_cast<std::int64_t>(i), "local");
  }
  Handles<LoopRV> loops = get_loops(schedule, partial);
  if (producer) {
    merge(schedule, {*producer, loops[loops.size() - 2]});
    loops = get_loops(schedule, partial);
  }
  const BlockRV start =
      decompose_reduction(schedule, partial, first_of_reduction(schedule, partial, loops));
  decompose_reduction(schedule, block, get_loops(schedule, block).back());
  return {.start = start, .partial = partial, .total = block, .shape = shape};
}

void vectorize_lanes(Schedule& schedule, const LaneReduction& reduction) {
  for (const BlockRV block : {reduction.start, reduction.partial, reduction.total}) {
    put_in_lanes(schedule, block, reduction.shape);
  }
}

}  // namespace loopsmith
