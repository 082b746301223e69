// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/schedule_columns.h"

#include <algorithm>

#include "loopsmith/rules/lane_strides.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/loop_steps.h"
#include "loopsmith/rules/register_tile.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/task_sizes.h"
#include "loopsmith/schedule/primitives/annotate.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/peel.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {
namespace {

/// Of results that wait in registers: more lines of each row at once; fewer do not hide the latency
/// of an addition.
constexpr std::int64_t max_vectors = 8;
constexpr std::int64_t min_vectors = 4;

/// Of less than this, what is left over by tiles takes longer in vectors of its own than masked.
constexpr std::int64_t min_rest_bytes = 8;

/// Of each tile of a rest whose size is unknown.
constexpr std::int64_t masked_vectors = 1;

/// Of a window, in copies of which each mask is a constant.
constexpr std::int64_t max_unrolled_window = 8;
/// Rows that are read side by side, each a stream that the processor follows. Their sums go to the
/// first cache and back once.
constexpr std::int64_t rows_at_once = 8;
/// Smaller matrices than so many times a core's cache pass as fast through tiles.
constexpr std::int64_t caches_of_rows = 4;
/// The sums of longer strips leave the first cache.
constexpr std::int64_t max_strip_bytes = 16384;

/// How columns are cut: into tiles of so many vectors, of so many lanes, and a rest.
struct ColumnCut {
  std::int64_t vectors;
  std::int64_t lanes;
  std::int64_t rest;
};

/// Tiles that cover all columns, if there are such; else the largest ones. Of any number of
/// columns, the rest is unknown.
ColumnCut cut_of(std::optional<std::int64_t> known, std::int64_t lanes, const CpuModel& machine) {
  // The others are for what is loaded.
  const std::int64_t most = std::min<std::int64_t>(max_vectors, machine.vector_registers / 2);
  if (!known) return {most, lanes, most * lanes};
  const std::int64_t columns = *known, all = columns / lanes;
  for (std::int64_t vectors = most; vectors >= std::min(min_vectors, all); --vectors) {
    if (vectors > 0 && columns % (vectors * lanes) == 0) return {vectors, lanes, 0};
  }
  return {most, lanes, columns % (most * lanes)};
}

/// The axis of columns, where all that is accessed is in lines along it.
std::optional<Axis> columns_of(const Nest& nest) {
  const std::optional<Axis> along = contiguous_axis(nest);
  if (!along || along->reduce || row_axis_of(nest, *along)) return {};
  return stride_in_lines(nest, *along) ? along : std::nullopt;
}

bool is_apart(const Nest& nest, const Axis& along) {
  return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, along.var) == Stride::other;
  });
}

/// The loops of a nest: those that may be tasks, those of the reduction, that over columns.
struct ColumnLoops {
  std::vector<NestLoop> tasks;
  std::vector<LoopRV> steps;
  std::optional<LoopRV> across;
  bool unrolls_last_step = false;
};

/// True when a condition on a value reads the axis and `along`: which lanes it masks depends on the
/// axis alone, in the middle of rows.
bool decides_masks(const Nest& nest, const Axis& axis, const Axis& along) {
  const auto extent = constant_extent(axis);
  if (!extent || *extent > max_unrolled_window) return false;
  bool found = false;
  pre_order_visit(nest.body, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    const auto* select = ref.as<Select>();
    const bool is_choice = call && call->op == op("if_then_else");
    if (!is_choice && !select) return !found;
    const Expr condition = is_choice ? call->args[0] : select->condition;
    found = found || (uses_variable(condition, axis.var) && uses_variable(condition, along.var));
    return !found;
  });
  return found;
}

ColumnLoops sorted_loops(const Nest& nest, const std::vector<NestLoop>& loops, const Axis& along) {
  ColumnLoops sorted;
  for (const NestLoop& each : loops) {
    if (each.axis.reduce) {
      sorted.steps.push_back(each.loop);
      sorted.unrolls_last_step = decides_masks(nest, each.axis, along);
    } else if (each.axis.var.same_as(along.var)) {
      sorted.across = each.loop;
    } else {
      sorted.tasks.push_back(each);
    }
  }
  return sorted;
}

/// Puts a block's reduction between its tasks and its columns, in vectors: `inner` are the loops
/// over the columns of one task, of which the last has lanes.
void reduce_columns(Schedule& schedule, BlockRV block, const ColumnLoops& loops,
                    const std::vector<LoopRV>& inner, bool has_threads,
                    const RuleContext& context) {
  std::vector<LoopRV> order;
  for (const NestLoop& each : loops.tasks) order.push_back(each.loop);
  order.insert(order.end(), loops.steps.begin(), loops.steps.end());
  order.insert(order.end(), inner.begin(), inner.end());
  reorder(schedule, order);
  const BlockRV start = decompose_reduction(schedule, block, loops.steps[0]);
  if (has_threads && !loops.tasks.empty()) parallelize(schedule, loops.tasks, context);
  for (const BlockRV each : {start, block}) {
    const Handles<LoopRV> found = get_loops(schedule, each);
    if (inner.size() > 1) unroll(schedule, found[found.size() - 2]);
    vectorize(schedule, found.back());
    if (each == block && loops.unrolls_last_step) {
      unroll(schedule, found[found.size() - inner.size() - 1]);
    }
  }
}

/// Columns of whole tiles, each a task.
void reduce_tiles(Schedule& schedule, BlockRV block, ColumnLoops loops, const ColumnCut& cut,
                  bool has_threads, const RuleContext& context) {
  const auto [tile, vector, lane] =
      split(schedule, *loops.across, {infer, cut.vectors, cut.lanes}).take<3>();
  loops.tasks.push_back(with_axis(schedule, tile));
  reduce_columns(schedule, block, loops, {vector, lane}, has_threads, context);
}

/// What is left over by tiles, in vectors of which the last is masked.
void reduce_masked(Schedule& schedule, BlockRV block, const ColumnLoops& loops, std::int64_t lanes,
                   bool has_threads, const RuleContext& context) {
  const auto [vector, lane] = split(schedule, *loops.across, {infer, lanes}).take<2>();
  // A copy for whole vectors would be taken once.
  annotate(schedule, vector, "pragma_loop_partition_hint", 0);
  reduce_columns(schedule, block, loops, {vector, lane}, has_threads, context);
}

/// Rows that are cut into strips, each a task, and a rest.
struct StripCut {
  std::int64_t strips;
  std::int64_t rest;
};

/// Of rows that are longer than a tile, so that memory is read along rows: a tile down the columns
/// asks for a piece of each row, which no prefetcher follows. None where rows are as short as that,
/// where they are hardly more than a core's cache holds, or where they are read again for other
/// results.
std::optional<StripCut> strips_of(const Schedule& schedule, const Nest& nest,
                                  const ColumnLoops& loops, const Axis& along, std::int64_t columns,
                                  const ColumnCut& cut, std::int64_t bytes, std::int64_t threads,
                                  std::int64_t cached_bytes) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  const bool is_read_once = std::ranges::all_of(loops.tasks, [&](const NestLoop& each) {
    if (is_const_int(schedule.get(each.loop).extent, 1)) return true;
    return std::ranges::all_of(accesses, [&](const NestAccess& access) {
      return stride_along(access, along.var) == Stride::none ||
             stride_along(access, each.axis.var) != Stride::none;
    });
  });
  if (!is_read_once || loops.steps.size() != 1 || columns <= cut.vectors * cut.lanes) return {};
  const std::int64_t* rows = as_int(schedule.get(loops.steps[0]).extent);
  if (!rows || *rows <= caches_of_rows * cached_bytes / (columns * bytes)) return {};
  const std::int64_t fewest =
      std::max(threads, (columns * bytes + max_strip_bytes - 1) / max_strip_bytes);
  std::optional<StripCut> found;
  for (std::int64_t strips = fewest; strips < 2 * fewest; ++strips) {
    const std::int64_t rest = columns % (strips * cut.lanes);
    if ((columns - rest) / strips * bytes < min_strip_bytes) break;
    const bool is_vector = rest <= cut.vectors * cut.lanes && rest * bytes >= min_rest_bytes;
    if (rest == 0) return StripCut{strips, 0};
    if (is_vector && !found) found = {strips, rest};
  }
  return found;
}

/// Rows of strips, several at once: each is read from its first to its last column.
void reduce_along_rows(Schedule& schedule, BlockRV block, const ColumnLoops& loops,
                       std::int64_t strips, std::int64_t lanes, bool has_threads,
                       const RuleContext& context) {
  const auto [strip, column, lane] =
      split(schedule, *loops.across, {strips, infer, lanes}).take<3>();
  const auto [step, row] = split(schedule, loops.steps[0], {infer, rows_at_once}).take<2>();
  std::vector<LoopRV> order;
  for (const NestLoop& each : loops.tasks) order.push_back(each.loop);
  order.insert(order.end(), {strip, step, column, row, lane});
  reorder(schedule, order);
  const BlockRV start = decompose_reduction(schedule, block, step);
  if (has_threads) {
    const For& loop = schedule.get(strip);
    std::vector<NestLoop> tasks = loops.tasks;
    tasks.push_back({strip, {loop.loop_var, loop.min, loop.extent}});
    parallelize(schedule, tasks, context);
  }
  const Handles<LoopRV> found = get_loops(schedule, block);
  unroll(schedule, found[found.size() - 2]);
  vectorize(schedule, found.back());
  vectorize(schedule, get_loops(schedule, start).back());
}

/// The loops of a part of the columns, which are as before, but that over columns is first.
ColumnLoops loops_of_part(Schedule& schedule, BlockRV block, const ColumnLoops& whole) {
  const Handles<LoopRV> loops = get_loops(schedule, block);
  ColumnLoops part = whole;
  part.across = loops[0];
  std::size_t next = 1;
  for (NestLoop& each : part.tasks) each.loop = loops[next++];
  for (LoopRV& each : part.steps) each = loops[next++];
  return part;
}

}  // namespace

bool schedule_columns(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  if (subject.nests.size() != 1) return false;
  const Nest& nest = subject.nests[0];
  const CpuModel& machine = context.machine;
  if (nest.reduction().empty() || point_count(nest.axes) == 0 || !nest.streamed.empty()) {
    return false;
  }
  const std::optional<Axis> along = columns_of(nest);
  const std::int64_t lanes = lanes_of(nest, machine);
  if (!along || lanes <= 1 || is_packed(nest, machine)) return false;
  const auto columns = constant_extent(*along);
  const ColumnCut cut = cut_of(columns, lanes, machine);
  const std::int64_t bits = written_buffers(nest)[0]->dtype.bits;
  // What is wider in registers than in memory would be converted in each of the rest's pieces.
  const bool is_widened = bits * lanes < std::int64_t{8} * machine.vector_bytes;
  // Elements that lie apart would be gathered there.
  const bool is_masked = is_widened && cut.rest > lanes && !is_apart(nest, *along);
  const auto found = look_up_loops(schedule, nest);
  if (!found) return false;
  const ColumnLoops loops = sorted_loops(nest, *found, *along);
  if (!loops.across || loops.steps.empty()) return false;
  const bool has_threads = context.has_threads();
  const std::int64_t threads = has_threads ? machine.cores : 1;
  std::optional<StripCut> strips;
  if (columns) {
    strips = strips_of(schedule, nest, loops, *along, *columns, cut, bits / 8, threads,
                       machine.core_cache_bytes);
  }
  if (strips && strips->rest > 0 && is_widened) strips.reset();
  const auto reduce_whole = [&](BlockRV block, const ColumnLoops& whole) {
    if (strips) {
      reduce_along_rows(schedule, block, whole, strips->strips, lanes, has_threads, context);
    } else {
      reduce_tiles(schedule, block, whole, cut, has_threads, context);
    }
  };
  const std::int64_t left = strips ? strips->rest : cut.rest;
  if (left == 0) {
    reduce_whole(nest.block, loops);
    return true;
  }
  const auto reduce_rest = [&](BlockRV block, const ColumnLoops& rest) {
    if (!columns) {
      const ColumnCut few{masked_vectors, lanes, 0};
      reduce_tiles(schedule, block, rest, few, has_threads && !rest.tasks.empty(), context);
    } else if (is_masked) {
      reduce_masked(schedule, block, rest, lanes, has_threads, context);
    } else {
      reduce_columns(schedule, block, rest, {*rest.across}, has_threads, context);
    }
  };
  if (left == columns) {
    reduce_rest(nest.block, loops);
    return true;
  }
  std::vector<LoopRV> order{*loops.across};
  for (const NestLoop& each : loops.tasks) order.push_back(each.loop);
  order.insert(order.end(), loops.steps.begin(), loops.steps.end());
  reorder(schedule, order);
  const auto [whole, rest] =
      columns ? peel(schedule, *loops.across, 0, left).take<2>()
              : peel(schedule, *loops.across, 0, 0, 0, cut.vectors * lanes).take<2>();
  const BlockRV in_whole = get_child_blocks(schedule, whole)[0];
  const BlockRV left_over = get_child_blocks(schedule, rest)[0];
  reduce_whole(in_whole, loops_of_part(schedule, in_whole, loops));
  reduce_rest(left_over, loops_of_part(schedule, left_over, loops));
  return true;
}

}  // namespace loopsmith
