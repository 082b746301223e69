// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/reductions.h"

#include <algorithm>
#include <span>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/fuse.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/sample.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"
#include "loopsmith/tune/spaces/dot_instructions.h"

namespace loopsmith::tune {
namespace {

using Loops = std::vector<LoopRV>;

constexpr std::int64_t rows_of_tile[] = {1, 2, 4, 6, 8, 12, 14};
constexpr std::int64_t columns_of_tile[] = {16, 32, 48, 64};

/// True when there are divisors to choose between.
bool splits_evenly(std::int64_t extent) {
  if (extent <= 4) return true;
  constexpr std::int64_t sizes[] = {4, 6, 7, 9, 10};
  return std::ranges::any_of(
      sizes, [&](std::int64_t size) { return extent % size == 0 && size < extent; });
}

Loops split_by(Schedule& schedule, LoopRV loop, std::vector<SplitFactor> factors) {
  return split(schedule, loop, std::move(factors));
}

std::vector<SplitFactor> factors_of(const Handles<ExprRV>& holes) {
  return {holes.begin(), holes.end()};
}

/// Splits a loop on four levels, by sampled factors. They divide the loop's extent; or the
/// innermost is one of some sizes, and the others are rounded up.
Loops tiled(Schedule& schedule, LoopRV loop, std::span<const std::int64_t> sizes) {
  std::optional<std::int64_t> extent = constant_extent(schedule, loop);
  if (sizes.empty() && extent && splits_evenly(*extent)) {
    return split_by(schedule, loop,
                    factors_of(sample_perfect_tile(schedule, loop, 4, max_innermost)));
  }
  if (sizes.empty()) sizes = vector_extents;
  static constexpr std::int64_t inner[] = {1, 2, 4, 8};
  static constexpr std::int64_t outer[] = {1, 2, 4, 8, 16};
  std::vector<SplitFactor> factors{infer};
  const std::span<const std::int64_t> levels[] = {sizes, inner, outer};
  for (const std::span<const std::int64_t> candidates : levels) {
    const ExprRV factor = sample_factor(schedule, candidates, extent);
    factors.insert(factors.begin() + 1, factor);
    extent = parts_of(extent, schedule.get(factor));
  }
  return split_by(schedule, loop, std::move(factors));
}

/// Splits the loop of a reduction on two levels.
Loops stepped(Schedule& schedule, LoopRV loop) {
  const std::optional<std::int64_t> extent = constant_extent(schedule, loop);
  if (extent && splits_evenly(*extent)) {
    return split_by(schedule, loop,
                    factors_of(sample_perfect_tile(schedule, loop, 2, 4 * max_innermost)));
  }
  return split_by(schedule, loop, {infer, sample(schedule, {4, 16, 64, 256})});
}

/// The block that copies the results of a tile, where the tile has memory of its own.
std::optional<BlockRV> write_through_cache(Schedule& schedule, BlockRV block, const Loops& tile) {
  const std::int64_t level = choose(schedule, {0, 1, 2});
  if (level == 0) return {};
  const auto stored = cache_write.attempt(schedule, block, 0, "global");
  if (stored) {
    const LoopRV place = tile[static_cast<std::size_t>(level) - 1];
    reverse_compute_at.attempt(schedule, *stored, place);
  }
  return stored;
}

/// The dimension of what a block reads along which the lanes of a loop lie; none where all read one
/// element, or where it is not one dimension.
std::optional<std::size_t> dimension_of_lanes(const Schedule& schedule, BlockRV block,
                                              std::size_t number, LoopRV lanes) {
  const BlockRealize& realize = schedule.realize(block);
  const Ptr<Var>& moved_by = schedule.get(lanes).loop_var;
  std::optional<std::size_t> found;
  const auto& region = realize.block->reads[number]->region;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (!uses_variable(realize.iter_values[i], moved_by)) continue;
    for (std::size_t d = 0; d < region.size(); ++d) {
      if (!uses_variable(region[d]->min, realize.block->iter_vars[i]->var)) continue;
      if (found && *found != d) return {};
      found = d;
    }
  }
  return found;
}

/// The indices of a buffer in panels of `width` along a dimension, which is innermost in each.
Ptr<IndexMap> panels_along(const Buffer& buffer, std::size_t dimension, std::int64_t width) {
  IndexMap map;
  std::vector<Expr> others;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    map.initial_indices.push_back(var("d", buffer.shape[d].dtype()));
    if (d != dimension) others.push_back(map.initial_indices.back());
  }
  const Expr along = map.initial_indices[dimension];
  const Expr size = int_imm(along.dtype(), width);
  if (width > 1) map.final_indices.push_back(floordiv(along, size));
  map.final_indices.insert(map.final_indices.end(), others.begin(), others.end());
  map.final_indices.push_back(width > 1 ? floormod(along, size) : along);
  return make(std::move(map));
}

/// Copies what is read, or not: where a loop starts, or all of it, once. In the copy, what the
/// lanes of a vector read may lie side by side.
void pack(Schedule& schedule, BlockRV block, LoopRV place, LoopRV lanes, bool is_outermost) {
  const auto count = static_cast<std::int64_t>(schedule.get(block).reads.size());
  for (std::int64_t number = 0; number < count; ++number) {
    if (!happens(schedule, 1, 3)) continue;
    const auto read = static_cast<std::size_t>(number);
    const auto along = dimension_of_lanes(schedule, block, read, lanes);
    const auto copy = cache_read.attempt(schedule, block, number, "global");
    if (!copy) continue;
    const Buffer& buffer = *schedule.get(block).reads[read]->buffer;
    const bool is_whole = is_outermost && along && happens(schedule, 1, 4);
    const std::int64_t width = is_whole ? constant_extent(schedule, lanes).value_or(1) : 1;
    const bool has_choice = along && (width > 1 || *along + 1 < buffer.shape.size());
    if (has_choice && happens(schedule, 3, 4)) {
      transform_layout.attempt(schedule, *copy, 0, panels_along(buffer, *along, width));
    }
    if (is_whole) {
      parallel.attempt(schedule, get_loops(schedule, *copy)[0]);
    } else {
      compute_at.attempt(schedule, *copy, place);
    }
    vectorize_innermost(schedule, *copy);
  }
}

void schedule_tiles(Schedule& schedule, BlockRV block, const Loops& spatial, const Loops& reduction,
                    bool is_parallel) {
  // Inside of a consumer's loops, extents are those of its tiles: guards there are work for
  // nothing.
  const bool is_rounded = is_parallel && happens(schedule, 1, 2);
  std::vector<Loops> tiles, steps;
  for (const LoopRV loop : spatial) {
    std::span<const std::int64_t> sizes;
    if (is_rounded && loop == spatial.back()) {
      sizes = columns_of_tile;
    } else if (is_rounded) {
      sizes = rows_of_tile;
    }
    tiles.push_back(tiled(schedule, loop, sizes));
  }
  for (const LoopRV loop : reduction) steps.push_back(stepped(schedule, loop));
  Loops order;
  const auto append = [&](const std::vector<Loops>& nests, std::size_t level) {
    for (const Loops& nest : nests) order.push_back(nest[level]);
  };
  append(tiles, 0);
  append(tiles, 1);
  append(steps, 0);
  append(tiles, 2);
  append(steps, 1);
  append(tiles, 3);
  reorder.attempt(schedule, order);
  const auto stored = write_through_cache(schedule, block, tiles.back());
  pack(schedule, block, steps.back()[0], tiles.back()[3], is_parallel);
  // Before loops run concurrently: each later step would ask again whether they may.
  const auto start = decompose_reduction.attempt(schedule, block, steps[0][0]);
  if (is_parallel) {
    Loops outer;
    for (const Loops& tile : tiles) outer.push_back(tile[0]);
    const LoopRV whole = fused(schedule, outer).value_or(outer[0]);
    parallel.attempt(schedule, whole);
  }
  vectorize.attempt(schedule, tiles.back()[3]);
  const bool is_unrolled = happens(schedule, 3, 4);
  for (std::size_t i = 0; is_unrolled && i + 1 < tiles.size(); ++i) {
    unroll.attempt(schedule, tiles[i][3]);
  }
  if (start) vectorize_innermost(schedule, *start);
  if (stored) vectorize_innermost(schedule, *stored);
}

/// Reduces each lane apart, at a loop of the block, then the lanes.
void factor_by_lanes(Schedule& schedule, BlockRV block, LoopRV lanes, std::optional<LoopRV> place) {
  const auto axis = static_cast<std::int64_t>(schedule.get(block).writes[0]->region.size());
  const auto partial = rfactor.attempt(schedule, lanes, axis);
  if (!partial) return;
  if (place) compute_at.attempt(schedule, *partial, *place);
  const Handles<LoopRV> loops = get_loops(schedule, *partial);
  if (loops.size() < 2) return;
  LoopRV steps = loops[loops.size() - 2], inner = loops.back();
  if (axis_kind(schedule, *partial, steps) != AxisKind::reduction) std::swap(steps, inner);
  reorder.attempt(schedule, {steps, inner});
  const auto start = decompose_reduction.attempt(schedule, *partial, steps);
  vectorize.attempt(schedule, inner);
  if (start) vectorize_innermost(schedule, *start);
  vectorize.attempt(schedule, lanes);
}

/// The third of the loops around a block, from the inside.
std::optional<LoopRV> third_innermost(Schedule& schedule, BlockRV block) {
  const Handles<LoopRV> loops = get_loops(schedule, block);
  return loops.size() < 3 ? std::nullopt : std::optional(loops[loops.size() - 3]);
}

/// Keeps several partial results, for vectors.
void schedule_lanes(Schedule& schedule, BlockRV block, const Loops& spatial, const Loops& reduction,
                    bool is_parallel) {
  const auto whole = fused(schedule, reduction);
  if (!whole) return;
  const ExprRV count = sample(schedule, {std::begin(lane_counts), std::end(lane_counts)});
  const LoopRV lanes = split(schedule, *whole, {infer, count})[1];
  factor_by_lanes(schedule, block, lanes, third_innermost(schedule, block));
  if (!spatial.empty() && is_parallel) {
    parallel.attempt(schedule, spatial[0]);
  }
}

/// Reduces chunks in parallel, each with several partial results, then the chunks' results.
void schedule_chunks(Schedule& schedule, const Loops& reduction) {
  const auto whole = fused(schedule, reduction);
  if (!whole) return;
  const ExprRV chunk_count = sample(schedule, {2, 4, 8, 16, 32, 64});
  const ExprRV count = sample(schedule, {std::begin(lane_counts), std::end(lane_counts)});
  const LoopRV chunks = split(schedule, *whole, {chunk_count, infer, count})[0];
  const auto partial = rfactor.attempt(schedule, chunks, 0);
  if (!partial) return;
  const auto place = third_innermost(schedule, *partial);
  if (!place) return;
  factor_by_lanes(schedule, *partial, get_loops(schedule, *partial).back(), place);
  parallel.attempt(schedule, *place);
}

}  // namespace

void schedule_reduction(Schedule& schedule, BlockRV block, std::size_t shared) {
  if (use_dot_instruction(schedule, block, shared == 0)) return;
  const Handles<LoopRV> all = get_loops(schedule, block);
  Loops spatial, reduction;
  bool is_mixed = false;
  for (std::size_t i = shared; i < all.size(); ++i) {
    const AxisKind kind = axis_kind(schedule, block, all[i]);
    is_mixed = is_mixed || kind == AxisKind::mixed;
    if (kind == AxisKind::reduction) reduction.push_back(all[i]);
    if (kind == AxisKind::spatial && constant_extent(schedule, all[i]) != 1) {
      spatial.push_back(all[i]);
    }
  }
  if (is_mixed || shared >= all.size()) {
    if (shared == 0 && !all.empty()) parallel.attempt(schedule, all[0]);
    return;
  }
  const bool is_parallel = shared == 0;
  const bool has_tiles = !spatial.empty() && !reduction.empty();
  // There are thousands of ways to tile and a few to keep partial results, which are quicker mostly
  // where tiles share no reads.
  const std::int64_t chance = shares_reads(schedule, block) ? 7 : 4;
  if (has_tiles && happens(schedule, chance, 8)) {
    schedule_tiles(schedule, block, spatial, reduction, is_parallel);
  } else if (!spatial.empty() || shared > 0 || !happens(schedule, 3, 4)) {
    schedule_lanes(schedule, block, spatial, reduction, is_parallel);
  } else {
    schedule_chunks(schedule, reduction);
  }
}

}  // namespace loopsmith::tune
