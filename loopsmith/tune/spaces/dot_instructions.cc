// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/dot_instructions.h"

#include <algorithm>
#include <string>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/pad_einsum.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/primitives/tensorize.h"
#include "loopsmith/schedule/primitives/transform_layout.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {
namespace {

/// An intrinsic `C[i] += A[k] * B[i, k]`.
struct DotInstruction {
  std::string name;
  DataType row, tile, result;         ///< The types of A, B and C.
  std::int64_t width = 0, depth = 0;  ///< The extents of i and k.
};

/// Those that are built in.
const std::vector<DotInstruction>& dot_instructions() {
  static const std::vector<DotInstruction> found = [] {
    std::vector<DotInstruction> all;
    for (const BuiltinIntrin& builtin : builtin_intrins()) {
      const Ptr<TensorIntrin> intrin = find_builtin_intrin(builtin.name);
      const auto& buffers = intrin->desc->buffer_map;
      const bool is_dot = buffers.size() == 3 && buffers[0]->shape.size() == 1 &&
                          buffers[1]->shape.size() == 2 && buffers[2]->shape.size() == 1;
      if (!is_dot) continue;
      all.push_back({.name = std::string(builtin.name),
                     .row = buffers[0]->dtype,
                     .tile = buffers[1]->dtype,
                     .result = buffers[2]->dtype,
                     .width = *as_int(buffers[1]->shape[0]),
                     .depth = *as_int(buffers[1]->shape[1])});
    }
    return all;
  }();
  return found;
}

/// The axes of a block that are tiled, and the operand that has both.
struct TiledAxes {
  std::size_t operand = 0;  ///< Its number among what is read.
  std::size_t wide = 0;     ///< The axis along which results lie,
  std::size_t deep = 0;     ///< and that of the reduction.
};

bool is_used(const BufferRegion& region, const Ptr<IterVar>& axis) {
  return std::ranges::any_of(
      region.region, [&](const Ptr<Range>& side) { return uses_variable(side->min, axis->var); });
}

std::optional<TiledAxes> tiled_axes(const Block& block, const DotInstruction& instruction) {
  if (block.reads.size() != 2 || block.writes.size() != 1 ||
      block.writes[0]->buffer->dtype != instruction.result) {
    return {};
  }
  for (std::size_t operand : {1, 0}) {
    const BufferRegion &tile = *block.reads[operand], &row = *block.reads[1 - operand];
    if (tile.buffer->dtype != instruction.tile || row.buffer->dtype != instruction.row) continue;
    TiledAxes axes{.operand = operand};
    bool has_wide = false, has_deep = false;
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Ptr<IterVar>& axis = block.iter_vars[i];
      const bool reduces = axis->iter_type == IterType::comm_reduce;
      if (!is_used(tile, axis) || reduces != is_used(row, axis)) continue;
      (reduces ? axes.deep : axes.wide) = i;
      (reduces ? has_deep : has_wide) = true;
    }
    if (has_wide && has_deep) return axes;
  }
  return {};
}

/// The indices of a buffer with a tile of two of its dimensions innermost; null where the operand
/// is not indexed by the axes themselves.
Ptr<IndexMap> tile_layout(const Block& block, const TiledAxes& axes,
                          const DotInstruction& instruction) {
  IndexMap map;
  std::vector<Expr> outer, inner(2);
  for (const Ptr<Range>& side : block.reads[axes.operand]->region) {
    const Ptr<Var> index = var("d", side->min.dtype());
    map.initial_indices.push_back(index);
    const bool is_wide = side->min.same_as(block.iter_vars[axes.wide]->var);
    const bool is_deep = side->min.same_as(block.iter_vars[axes.deep]->var);
    if (!is_wide && !is_deep) {
      outer.push_back(index);
      continue;
    }
    const Expr size = int_imm(index->dtype, is_wide ? instruction.width : instruction.depth);
    outer.push_back(floordiv(index, size));
    inner[is_wide ? 0 : 1] = floormod(index, size);
  }
  if (!inner[0].defined() || !inner[1].defined()) return nullptr;
  map.final_indices = std::move(outer);
  map.final_indices.insert(map.final_indices.end(), inner.begin(), inner.end());
  return make(std::move(map));
}

bool is_whole(const IterVar& axis, std::int64_t size) {
  const std::int64_t* extent = as_int(axis.dom->extent);
  return extent && *extent % size == 0;
}

/// Pads sizes that are not whole tiles; false where they may not be.
bool pad_to_tiles(Schedule& schedule, BlockRV block, const TiledAxes& axes,
                  const DotInstruction& instruction) {
  const auto& iter_vars = schedule.get(block).iter_vars;
  if (is_whole(*iter_vars[axes.wide], instruction.width) &&
      is_whole(*iter_vars[axes.deep], instruction.depth)) {
    return true;
  }
  std::vector<std::int64_t> padding(iter_vars.size(), 1);
  padding[axes.wide] = instruction.width;
  padding[axes.deep] = instruction.depth;
  return pad_einsum.attempt(schedule, block, padding).has_value();
}

/// The loop that is bound to an axis by itself.
std::optional<LoopRV> loop_of(const Schedule& schedule, BlockRV block, std::size_t axis,
                              const std::vector<LoopRV>& loops) {
  const Expr& value = schedule.realize(block).iter_values[axis];
  const auto found = std::ranges::find_if(
      loops, [&](LoopRV loop) { return value.same_as(schedule.get(loop).loop_var); });
  return found == loops.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

bool use_dot_instruction(Schedule& schedule, BlockRV block, bool is_parallel) {
  std::vector<const DotInstruction*> fitting;
  for (const DotInstruction& each : dot_instructions()) {
    if (tiled_axes(schedule.get(block), each)) fitting.push_back(&each);
  }
  if (fitting.empty() || !is_parallel || !happens(schedule, 1, 2)) return false;
  const auto number = choose_below(schedule, static_cast<std::int64_t>(fitting.size()));
  const DotInstruction& instruction = *fitting[static_cast<std::size_t>(number)];
  const TiledAxes axes = *tiled_axes(schedule.get(block), instruction);
  if (!pad_to_tiles(schedule, block, axes, instruction)) return false;
  const Ptr<IndexMap> layout = tile_layout(schedule.get(block), axes, instruction);
  const auto operand = static_cast<std::int64_t>(axes.operand);
  const auto copy =
      layout.defined() ? cache_read.attempt(schedule, block, operand, "global") : std::nullopt;
  if (copy) transform_layout.attempt(schedule, *copy, 0, layout);

  const Handles<LoopRV> loops = get_loops(schedule, block);
  const auto wide = loop_of(schedule, block, axes.wide, loops);
  const auto deep = loop_of(schedule, block, axes.deep, loops);
  if (!wide || !deep) return false;
  std::vector<LoopRV> spatial, reduction;
  for (const LoopRV loop : loops) {
    if (loop == *wide || loop == *deep) continue;
    const bool reduces = axis_kind(schedule, block, loop) == AxisKind::reduction;
    (reduces ? reduction : spatial).push_back(loop);
  }
  const auto [wide_outer, wide_inner] =
      split(schedule, *wide, {infer, instruction.width}).take<2>();
  const auto [deep_outer, deep_inner] =
      split(schedule, *deep, {infer, instruction.depth}).take<2>();
  std::optional<LoopRV> row;
  if (!spatial.empty()) {
    constexpr std::int64_t row_counts[] = {1, 2, 4, 8};
    const ExprRV rows =
        sample_factor(schedule, row_counts, constant_extent(schedule, spatial.back()));
    const auto parts = split(schedule, spatial.back(), {infer, rows});
    spatial.back() = parts[0];
    row = parts[1];
  }
  std::vector<LoopRV> order = spatial;
  order.push_back(wide_outer);
  order.insert(order.end(), reduction.begin(), reduction.end());
  order.push_back(deep_outer);
  if (row) order.push_back(*row);
  order.push_back(wide_inner);
  order.push_back(deep_inner);
  reorder.attempt(schedule, order);
  const LoopRV first_step = reduction.empty() ? deep_outer : reduction[0];
  const auto start = decompose_reduction.attempt(schedule, block, first_step);
  tensorize.attempt(schedule, wide_inner, TensorIntrinSelector(instruction.name));
  spatial.push_back(wide_outer);
  const LoopRV outer = fused(schedule, spatial).value_or(spatial[0]);
  parallel.attempt(schedule, outer);
  if (row) unroll.attempt(schedule, *row);
  if (start) vectorize_innermost(schedule, *start);
  if (copy) vectorize_innermost(schedule, *copy);
  return true;
}

}  // namespace loopsmith::tune
