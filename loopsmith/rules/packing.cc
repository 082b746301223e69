// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/packing.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/dot_product_packing.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// The panels of one task fill this part of a core's cache, one of them at most half as much.
constexpr std::int64_t cache_parts = 4;
constexpr std::int64_t max_steps = 1024;
/// Longer inner reductions than so many blocks are not cut.
constexpr std::int64_t longest_inner = 8;
/// Rows of tiles whose sums wait in memory between two blocks.
constexpr std::int64_t max_waiting_rows = 512;
/// Where rows are copied: so many together, some lines of memory; and shorter blocks of the
/// reduction, so that more columns use a copy.
constexpr std::int64_t rows_together = 64;
constexpr std::int64_t max_steps_of_rows = 512;
/// How many tiles must read a panel before copying it pays; where it is copied across memory.
constexpr std::int64_t min_readers = 2;
constexpr std::int64_t min_readers_across = 4;
/// What copying a column of tiles costs, in multiplications of a vector for each; across memory.
constexpr double column_cost = 12.0;
constexpr double column_cost_across = 40.0;
/// What reading a row of tiles from beyond the core's own cache costs, in tiles; copying it.
constexpr double row_cost = 0.15;
constexpr double row_cost_copied = 0.7;

std::optional<std::int64_t> known(const Expr& expr) {
  const std::int64_t* value = as_int(expr);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<ReductionBlocks> cut_reduction(const std::vector<Axis>& axes, std::int64_t most) {
  const auto inner = point_count({axes.begin() + 1, axes.end()});
  if (!inner || *inner == 0 || *inner > longest_inner * most) return std::nullopt;
  const std::int64_t longest = std::max<std::int64_t>(1, most / *inner);
  const DataType type = axes[0].extent.dtype();
  const auto extent = constant_extent(axes[0]);
  if (extent && *extent == 0) return std::nullopt;
  if (!extent) {
    const Expr size = int_imm(type, longest);
    // One block at least: its first clears the results.
    return ReductionBlocks{.count = max(int_imm(type, 1), ceildiv(axes[0].extent, size)),
                           .size = longest,
                           .exact = false};
  }
  std::int64_t count = (*extent + longest - 1) / longest;
  // Somewhat shorter blocks, where all of them are of one size then.
  for (std::int64_t more = count; more <= count + count / 2; ++more) {
    if (*extent % more != 0) continue;
    count = more;
    break;
  }
  const std::int64_t size = (*extent + count - 1) / count;
  return ReductionBlocks{
      .count = int_imm(type, count), .size = size, .exact = size * count == *extent};
}

/// Bytes for the panels of a task.
std::int64_t budget_of(const CpuModel& machine) {
  return machine.core_cache_bytes / cache_parts;
}

/// Bytes that a step of the reduction has in one panel of each operand.
std::int64_t bytes_a_step(const PackedForm& form) {
  std::int64_t bytes = 0;
  for (const Panel& panel : form.columns) {
    bytes += form.tile.width() * panel.source.dtype().bytes();
  }
  return bytes;
}

/// The axis in vectors and the one whose results share columns.
struct TileAxes {
  Axis vector, row;
};

std::optional<TileAxes> tile_axes_of(const Nest& nest) {
  const std::optional<Axis> vector_axis = contiguous_axis(nest);
  if (!vector_axis || nest.reduction().empty()) return std::nullopt;
  const std::optional<Axis> row_axis = row_axis_of(nest, *vector_axis);
  return row_axis ? std::optional(TileAxes{*vector_axis, *row_axis}) : std::nullopt;
}

PackedForm form_of(const Nest& nest, const TileAxes& axes) {
  return {.nest = nest,
          .combination = combination_of(nest),
          .vector_axis = axes.vector,
          .row_axis = axes.row,
          .reduction = nest.reduction(),
          .columns = {},
          .rows = {},
          .tile = {},
          .block_count = nullptr};
}

/// The longest block of the reduction whose panels a task's part of the cache holds.
std::int64_t longest_block(const PackedForm& form, const CpuModel& machine) {
  const std::int64_t depth = form.steps_together ? form.steps_together->depth : 1;
  return std::clamp<std::int64_t>(budget_of(machine) / 2 / bytes_a_step(form) / depth, 1,
                                  form.rows.empty() ? max_steps : max_steps_of_rows) *
         depth;
}

/// Chooses the tile of a form that has its panels.
void choose_tile(PackedForm& form, const CpuModel& machine) {
  form.tile =
      choose_register_tile(form.nest, form.row_axis, form.vector_axis, lanes_of(form.nest, machine),
                           machine, !form.rows.empty() && !form.steps_together);
  form.columns_fit = divides(form.vector_axis, form.tile.width());
}

/// What there is of a form that has its tile.
std::optional<Packing> packing_along(PackedForm made, const CpuModel& machine) {
  Packing packing{.form = std::move(made), .outer = {}, .items = {}, .blocks = {}, .grid = {}};
  PackedForm& form = packing.form;
  const Axis &vector_axis = form.vector_axis, &row_axis = form.row_axis;
  for (const Axis& axis : form.nest.spatial()) {
    if (axis.var.same_as(vector_axis.var) || axis.var.same_as(row_axis.var)) continue;
    const bool moves = std::ranges::any_of(
        form.columns, [&](const Panel& panel) { return uses_variable(panel.source, axis.var); });
    (moves ? packing.outer : packing.items).push_back(axis);
  }
  const Expr tiles = tiles_along(row_axis, form.tile.rows);
  const Ptr<Var> tile_row = var(row_axis.var->name + "_o", tiles.dtype());
  packing.items.push_back({tile_row, zero_of(tiles.dtype()), tiles, false});
  auto blocks = cut_reduction(form.reduction, longest_block(form, machine));
  if (!blocks) return std::nullopt;
  packing.blocks = *std::move(blocks);
  form.block_count = packing.blocks.count;
  return packing;
}

/// How many steps there are with those that make all blocks alike, and whole groups.
std::int64_t even_steps(const PackedForm& form, const CpuModel& machine) {
  const DotProduct& dot = *form.steps_together;
  const std::int64_t extent = *constant_extent(dot.steps);
  const bool is_cut = dot.steps.var.same_as(form.reduction[0].var);
  const auto inner = point_count({form.reduction.begin() + 1, form.reduction.end()});
  const std::int64_t most =
      is_cut ? std::max(longest_block(form, machine) / inner.value_or(1) / dot.depth,
                        std::int64_t{1}) *
                   dot.depth
             : extent;
  const std::int64_t blocks = (extent + most - 1) / most;
  const std::int64_t groups = (extent + blocks * dot.depth - 1) / (blocks * dot.depth);
  return blocks * groups * dot.depth;
}

}  // namespace

std::int64_t Packing::tiles_together() const {
  return rows_together / form.tile.rows;
}

bool Packing::is_across() const {
  return !std::ranges::all_of(form.columns, [&](const Panel& panel) {
    return is_contiguous_along(panel, form.vector_axis);
  });
}

Expr Packing::pays() const {
  const Expr count = item_count();
  if (!is_across()) return !as_int(count) || *as_int(count) >= min_readers;
  return count >= int_imm(count.dtype(), min_readers_across);
}

std::optional<Packing> packing_of(const Nest& nest, const CpuModel& machine) {
  const std::optional<TileAxes> axes = tile_axes_of(nest);
  if (!axes) return std::nullopt;
  const DotIntrinsic* pairs = machine.dot_product;
  const bool fills_pairs =
      pairs && constant_extent(axes->vector).value_or(pairs->result.lanes) >= pairs->result.lanes;
  const auto paired = fills_pairs ? with_pairs(nest, axes->vector) : std::nullopt;
  PackedForm form = form_of(paired ? *paired : nest, *axes);
  form.dot_product = paired ? pairs : nullptr;
  form.columns = column_panels(form.nest, axes->vector, axes->row);
  if (form.columns.empty()) return std::nullopt;
  form.rows = row_panels(form.nest, axes->vector, axes->row);
  choose_tile(form, machine);
  std::optional<Packing> packing = packing_along(std::move(form), machine);
  const bool pays = packing && !is_const_int(packing->pays(), 0);
  return pays ? std::move(packing) : std::nullopt;
}

std::optional<DotPacking> dot_packing_of(const Nest& nest, const CpuModel& machine) {
  const std::optional<TileAxes> axes = tile_axes_of(nest);
  if (!axes || !point_count(nest.axes)) return std::nullopt;
  const auto dot = dot_product_of(nest, axes->vector, axes->row, machine);
  if (!dot) return std::nullopt;
  PackedForm form = form_of(nest, *axes);
  form.steps_together = dot;
  form.columns = {Panel{.source = dot->column, .axes = {}}};
  if (dot->copies_rows) form.rows = {Panel{.source = dot->row, .axes = {}}};
  choose_tile(form, machine);
  if (form.tile.lanes != dot->lanes) return std::nullopt;
  const std::int64_t steps = even_steps(form, machine);
  for (Axis& axis : form.reduction) {
    if (axis.var.same_as(dot->steps.var)) axis.extent = int_imm(axis.extent.dtype(), steps);
  }
  auto packing = packing_along(std::move(form), machine);
  if (!packing || !packing->blocks.exact || !is_const_int(packing->pays(), 1)) return std::nullopt;
  const bool is_whole = !packing->form.is_cut() ||
                        !dot->steps.var.same_as(packing->form.reduction[0].var) ||
                        packing->blocks.size % dot->depth == 0;
  return is_whole ? std::optional(DotPacking{*std::move(packing), steps}) : std::nullopt;
}

void choose_grid(Packing& packing, const CpuModel& machine) {
  PackedForm& form = packing.form;
  const RegisterTile& tile = form.tile;
  std::int64_t steps = packing.blocks.size;
  for (std::size_t i = 1; i < form.reduction.size(); ++i) {
    steps *= *constant_extent(form.reduction[i]);
  }
  const auto rows = constant_extent(form.row_axis);
  const bool may_overlap =
      rows && *rows > tile.rows && packing.items.size() == 1 && point_count(form.nest.spatial());
  if (!divides(form.row_axis, tile.rows)) {
    form.last_rows = may_overlap ? PackedForm::LastRows::overlap : PackedForm::LastRows::repeat;
  }
  packing.grid = choose_work_partition(
      {.grids = point_count(packing.outer),
       .rows = point_count(packing.items),
       .columns = known(tiles_along(form.vector_axis, tile.width())),
       .max_rows = form.is_cut() ? max_waiting_rows : INT32_MAX,
       .max_columns = std::max<std::int64_t>(1, budget_of(machine) / (steps * bytes_a_step(form))),
       .column_cost = (packing.is_across() ? column_cost_across : column_cost) /
                      static_cast<double>(tile.rows),
       .row_cost = form.rows.empty() ? row_cost : row_cost_copied,
       .cores = machine.cores,
       .last_follows = form.last_rows == PackedForm::LastRows::overlap});
}

bool is_packed(const Nest& nest, const CpuModel& machine) {
  return packing_of(nest, machine).has_value();
}

}  // namespace loopsmith
