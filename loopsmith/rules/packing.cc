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

std::optional<Packing> packing_along(const Nest& nest, const CpuModel& machine,
                                     const Axis& vector_axis, const Axis& row_axis,
                                     std::vector<Panel> columns, const DotIntrinsic* dot_product) {
  Packing packing{.form = {.nest = nest,
                           .combination = combination_of(nest),
                           .dot_product = dot_product,
                           .vector_axis = vector_axis,
                           .row_axis = row_axis,
                           .reduction = nest.reduction(),
                           .columns = std::move(columns),
                           .rows = row_panels(nest, vector_axis, row_axis),
                           .tile = {},
                           .block_count = nullptr},
                  .outer = {},
                  .items = {},
                  .blocks = {},
                  .grid = {}};
  PackedForm& form = packing.form;
  form.tile = choose_register_tile(nest, row_axis, vector_axis, lanes_of(nest, machine), machine,
                                   !form.rows.empty());
  form.columns_fit = divides(vector_axis, form.tile.width());
  for (const Axis& axis : nest.spatial()) {
    if (axis.var.same_as(vector_axis.var) || axis.var.same_as(row_axis.var)) continue;
    const bool moves = std::ranges::any_of(
        form.columns, [&](const Panel& panel) { return uses_variable(panel.source, axis.var); });
    (moves ? packing.outer : packing.items).push_back(axis);
  }
  const Expr tiles = tiles_along(row_axis, form.tile.rows);
  const Ptr<Var> tile_row = var(row_axis.var->name + "_o", tiles.dtype());
  packing.items.push_back({tile_row, zero_of(tiles.dtype()), tiles, false});
  const std::int64_t steps =
      std::clamp<std::int64_t>(budget_of(machine) / 2 / bytes_a_step(form), 1,
                               form.rows.empty() ? max_steps : max_steps_of_rows);
  auto blocks = cut_reduction(form.reduction, steps);
  if (!blocks) return std::nullopt;
  packing.blocks = *std::move(blocks);
  form.block_count = packing.blocks.count;
  return packing;
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
  const std::optional<Axis> vector_axis = contiguous_axis(nest);
  if (!vector_axis || nest.reduction().empty()) return std::nullopt;
  const std::optional<Axis> row_axis = row_axis_of(nest, *vector_axis);
  if (!row_axis) return std::nullopt;
  const DotIntrinsic* pairs = machine.dot_product;
  const bool fills_pairs =
      pairs && constant_extent(*vector_axis).value_or(pairs->result.lanes) >= pairs->result.lanes;
  const auto paired = fills_pairs ? with_pairs(nest, *vector_axis) : std::nullopt;
  const Nest& packed = paired ? *paired : nest;
  std::vector<Panel> columns = column_panels(packed, *vector_axis, *row_axis);
  if (columns.empty()) return std::nullopt;
  std::optional<Packing> packing = packing_along(packed, machine, *vector_axis, *row_axis,
                                                 std::move(columns), paired ? pairs : nullptr);
  const bool pays = packing && !is_const_int(packing->pays(), 0);
  return pays ? std::move(packing) : std::nullopt;
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
