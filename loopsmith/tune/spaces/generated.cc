// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/generated.h"

#include <algorithm>
#include <span>

#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/sample_compute_location.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"
#include "loopsmith/tune/spaces/plain_loop_space.h"
#include "loopsmith/tune/spaces/reductions.h"

namespace loopsmith::tune {
namespace {

/// Computes a block at a loop of a consumer, or not; how many loops they then share. A reduction is
/// not computed where its results would be computed again.
std::size_t place_at_consumer(Schedule& schedule, BlockRV block) {
  const auto consumers = get_consumers.attempt(schedule, block);
  if (!consumers || consumers->empty()) return 0;
  const BlockRV consumer = consumers->front();
  std::optional<LoopRV> place;
  if (reduces(schedule, block)) {
    const std::vector<LoopRV> places = loops_without_repeats(schedule, block, consumer);
    if (places.empty()) return 0;
    const std::int64_t depth = choose_below(schedule, static_cast<std::int64_t>(places.size()) + 1);
    if (depth == 0) return 0;
    place = places[static_cast<std::size_t>(depth) - 1];
  } else {
    place = sample_compute_location.attempt(schedule, block);
    if (!place) return 0;
  }
  compute_at.attempt(schedule, block, *place);
  if (schedule.refuse(block)) return 0;  // It was inlined.
  const Handles<LoopRV> theirs = get_loops(schedule, consumer);
  const Handles<LoopRV> own = get_loops(schedule, block);
  return static_cast<std::size_t>(std::ranges::mismatch(own, theirs).in1 - own.begin());
}

/// Tiles of rows and columns, parallel outside; either may become vectors.
void schedule_spatial(Schedule& schedule, BlockRV block) {
  const Handles<LoopRV> loops = get_loops(schedule, block);
  if (loops.empty()) return;
  if (loops.size() == 1) {
    const auto extent = constant_extent(schedule, loops[0]);
    const ExprRV lanes = sample_factor(schedule, vector_extents, extent);
    constexpr std::int64_t row_counts[] = {1, 8, 64, 512};
    const ExprRV rows = sample_factor(schedule, row_counts, parts_of(extent, schedule.get(lanes)));
    const auto parts = split.attempt(schedule, loops[0], {infer, rows, lanes});
    if (!parts) return;
    parallel.attempt(schedule, (*parts)[0]);
    vectorize.attempt(schedule, (*parts)[2]);
    return;
  }
  const bool is_along_rows = happens(schedule, 3, 4);
  const LoopRV last = loops.back(), before = loops[loops.size() - 2];
  const LoopRV vertical = is_along_rows ? before : last;
  const LoopRV horizontal = is_along_rows ? last : before;
  constexpr std::int64_t heights[] = {1, 2, 4, 8, 16, 32, 64};
  constexpr std::int64_t widths[] = {1, 2, 4, 16};
  const ExprRV height = sample_factor(schedule, heights, constant_extent(schedule, vertical));
  const auto extent = constant_extent(schedule, horizontal);
  const ExprRV lanes = sample_factor(schedule, vector_extents, extent);
  const ExprRV width = sample_factor(schedule, widths, parts_of(extent, schedule.get(lanes)));
  const auto row_parts = split(schedule, vertical, {infer, height});
  const auto column_parts = split(schedule, horizontal, {infer, width, lanes});
  std::vector<LoopRV> outer(loops.begin(), loops.end() - 2);
  outer.push_back(row_parts[0]);
  std::vector<LoopRV> order = outer;
  order.push_back(column_parts[0]);
  const bool is_row_inside = happens(schedule, 1, 2);
  order.push_back(is_row_inside ? row_parts[1] : column_parts[1]);
  order.push_back(is_row_inside ? column_parts[1] : row_parts[1]);
  order.push_back(column_parts[2]);
  reorder.attempt(schedule, order);
  const LoopRV first = fused(schedule, outer).value_or(outer[0]);
  parallel.attempt(schedule, first);
  vectorize.attempt(schedule, column_parts[2]);
}

/// Schedules a block inside of the loops that it shares with others.
void schedule_inside(Schedule& schedule, BlockRV block, std::size_t shared) {
  if (reduces(schedule, block)) {
    schedule_reduction(schedule, block, shared);
  } else {
    vectorize_innermost(schedule, block);
  }
}

void schedule_block(Schedule& schedule, BlockRV block) {
  if (runs_in_order(schedule, block) || is_inlined(schedule, block)) return;
  const Handles<LoopRV> loops = get_loops(schedule, block);
  const auto is_serial = [&](LoopRV loop) { return schedule.get(loop).kind == ForKind::serial; };
  const std::size_t shared_before = common_loops(schedule, loops);
  if (shared_before > 0) {
    const auto own = std::span(loops).subspan(shared_before);
    if (std::ranges::all_of(own, is_serial)) schedule_inside(schedule, block, shared_before);
    return;
  }
  const std::size_t shared = place_at_consumer(schedule, block);
  if (schedule.refuse(block)) return;
  if (shared > 0 || reduces(schedule, block)) {
    schedule_inside(schedule, block, shared);
  } else {
    schedule_spatial(schedule, block);
  }
}

}  // namespace

void generated_space(Schedule& schedule) {
  generated_space_with(schedule, {});
}

void generated_space_with(Schedule& schedule, const std::vector<BlockRule>& rules) {
  for (const LoopRV loop : get_child_loops(schedule)) {
    if (!is_of_block(schedule, loop)) plain_loop_space(schedule, loop);
  }
  const auto root = get_block.attempt(schedule, "root");
  if (!root) return;
  const Handles<BlockRV> blocks = get_child_blocks(schedule, *root);
  for (std::size_t i = blocks.size(); i-- > 0;) {
    if (!apply_rules(schedule, blocks[i], rules)) schedule_block(schedule, blocks[i]);
  }
}

}  // namespace loopsmith::tune
