// SPDX-License-Identifier: Apache-2.0
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with the
// block of the column operand in the second cache.
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/dot_product_packing.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/packed_form.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/work_partition.h"

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

/// The reduction's first axis, cut into blocks.
struct Blocks {
  Expr count;
  std::int64_t size = 1;
  bool exact = true;  ///< All of them are of this size.
};

std::optional<Blocks> cut_reduction(const std::vector<Axis>& axes, std::int64_t most) {
  const auto inner = point_count({axes.begin() + 1, axes.end()});
  if (!inner || *inner == 0 || *inner > longest_inner * most) return std::nullopt;
  const std::int64_t longest = std::max<std::int64_t>(1, most / *inner);
  const DataType type = axes[0].extent.dtype();
  const auto extent = constant_extent(axes[0]);
  if (extent && *extent == 0) return std::nullopt;
  if (!extent) {
    const Expr size = int_imm(type, longest);
    // One block at least: its first clears the results.
    return Blocks{.count = max(int_imm(type, 1), ceildiv(axes[0].extent, size)),
                  .size = longest,
                  .exact = false};
  }
  const std::int64_t count = (*extent + longest - 1) / longest;
  const std::int64_t size = (*extent + count - 1) / count;
  return Blocks{.count = int_imm(type, count), .size = size, .exact = size * count == *extent};
}

class Packing {
 public:
  Packing(const Nest& nest, const CpuModel& machine, const Axis& vector_axis, const Axis& row_axis,
          std::vector<Panel> columns, const DotIntrinsic* dot_product)
      : form_{.nest = nest,
              .combination = combination_of(nest),
              .dot_product = dot_product,
              .vector_axis = vector_axis,
              .row_axis = row_axis,
              .reduction = nest.reduction(),
              .columns = std::move(columns),
              .rows = row_panels(nest, vector_axis, row_axis),
              .tile = {},
              .block_count = nullptr},
        budget_(machine.core_cache_bytes / cache_parts) {
    form_.tile = choose_register_tile(nest, row_axis, vector_axis, lanes_of(nest, machine), machine,
                                      !form_.rows.empty());
    form_.columns_fit = divides(vector_axis, form_.tile.width());
    for (const Axis& axis : nest.spatial()) {
      if (axis.var.same_as(vector_axis.var) || axis.var.same_as(row_axis.var)) continue;
      const bool moves = std::ranges::any_of(
          form_.columns, [&](const Panel& panel) { return uses_variable(panel.source, axis.var); });
      (moves ? outer_ : items_).push_back(axis);
    }
    const Expr tiles = tiles_along(row_axis, form_.tile.rows);
    const Ptr<Var> tile_row = var(row_axis.var->name + "_o", tiles.dtype());
    items_.push_back({tile_row, zero_of(tiles.dtype()), tiles, false});
    for (const Panel& panel : form_.columns) {
      bytes_a_step_ += form_.tile.width() * panel.source.dtype().bytes();
    }
    const std::int64_t steps = std::clamp<std::int64_t>(
        budget_ / 2 / bytes_a_step_, 1, form_.rows.empty() ? max_steps : max_steps_of_rows);
    blocks_ = cut_reduction(form_.reduction, steps);
    if (blocks_) form_.block_count = blocks_->count;
  }

  /// Whether the reduction can be cut into blocks.
  bool is_cut() const { return blocks_.has_value(); }
  /// Whether there are enough rows.
  Expr pays() const {
    const Expr items = item_count();
    if (!is_across()) return !as_int(items) || *as_int(items) >= min_readers;
    return items >= int_imm(items.dtype(), min_readers_across);
  }
  Stmt run(const CpuModel& machine);

 private:
  bool is_across() const {
    return !std::ranges::all_of(form_.columns, [&](const Panel& panel) {
      return is_contiguous_along(panel, form_.vector_axis);
    });
  }
  std::int64_t tiles_together() const { return rows_together / form_.tile.rows; }
  Expr item_count() const { return number_of_points(items_); }
  void choose_grid(const CpuModel& machine);
  void allocate_copies();
  std::vector<Axis> block_at(const Expr& number) const;
  Stmt task(const Substitution& values, const Section& items, const Section& panels) const;
  Stmt tiles(const std::vector<Axis>& block, const Expr& number, const Substitution& values,
             const Section& items, const Section& panels, const TileResults& aside) const;
  Stmt each_panel(const Section& panels,
                  const std::function<Stmt(const Expr& number, const Expr& begin)>& body) const;

  PackedForm form_;
  std::vector<Axis> outer_;        ///< Along which the panels move.
  std::vector<Axis> items_;        ///< Along which they do not; rows of tiles last.
  std::int64_t budget_;            ///< Bytes for the panels of a task.
  std::int64_t bytes_a_step_ = 0;  ///< Of one panel.
  std::optional<Blocks> blocks_;
  WorkPartition grid_;
};

Stmt Packing::run(const CpuModel& machine) {
  choose_grid(machine);
  allocate_copies();
  const Expr items = item_count();
  const Expr panels = tiles_along(form_.vector_axis, form_.tile.width());
  const auto parts_of = [](const Axis& named, const Expr& all, std::int64_t size) {
    const Expr count = ceildiv(all, int_imm(all.dtype(), size));
    return Axis{var(named.var->name + "_p", count.dtype()), zero_of(count.dtype()), count, false};
  };
  std::vector<Axis> tasks = outer_;
  tasks.push_back(parts_of(form_.row_axis, items, grid_.rows));
  tasks.push_back(parts_of(form_.vector_axis, panels, grid_.columns));
  return fused_loop(tasks, ForKind::parallel, {}, [&](const Substitution& values) {
    const Expr& row = values.at(tasks[tasks.size() - 2].var);
    const Expr& column = values.at(tasks.back().var);
    return task(values, section_of(items, grid_.rows, row),
                section_of(panels, grid_.columns, column));
  });
}

void Packing::choose_grid(const CpuModel& machine) {
  const RegisterTile& tile = form_.tile;
  std::int64_t steps = blocks_->size;
  for (std::size_t i = 1; i < form_.reduction.size(); ++i) {
    steps *= *constant_extent(form_.reduction[i]);
  }
  const auto rows = constant_extent(form_.row_axis);
  const bool may_overlap =
      rows && *rows > tile.rows && items_.size() == 1 && point_count(form_.nest.spatial());
  if (!divides(form_.row_axis, tile.rows)) {
    form_.last_rows = may_overlap ? PackedForm::LastRows::overlap : PackedForm::LastRows::repeat;
  }
  grid_ = choose_work_partition(
      {.grids = point_count(outer_),
       .rows = point_count(items_),
       .columns = known(tiles_along(form_.vector_axis, tile.width())),
       .max_rows = form_.is_cut() ? max_waiting_rows : INT32_MAX,
       .max_columns = std::max<std::int64_t>(1, budget_ / (steps * bytes_a_step_)),
       .column_cost =
           (is_across() ? column_cost_across : column_cost) / static_cast<double>(tile.rows),
       .row_cost = form_.rows.empty() ? row_cost : row_cost_copied,
       .cores = machine.cores,
       .last_follows = form_.last_rows == PackedForm::LastRows::overlap});
}

void Packing::allocate_copies() {
  std::vector<Axis> room = form_.reduction;
  room[0].extent = int_imm(room[0].extent.dtype(), blocks_->size);
  for (Panel& panel : form_.columns) {
    allocate_copy(panel, form_.vector_axis.var->name + "_panel", grid_.columns, room,
                  form_.tile.width());
  }
  for (Panel& panel : form_.rows) {
    allocate_copy(panel, form_.row_axis.var->name + "_panel", tiles_together(), room,
                  form_.tile.rows);
  }
}

/// The reduction axes in the block of this number.
std::vector<Axis> Packing::block_at(const Expr& number) const {
  std::vector<Axis> axes = form_.reduction;
  const Expr size = int_imm(axes[0].extent.dtype(), blocks_->size);
  const Expr first = number * size;
  axes[0].min = axes[0].min + first;
  axes[0].extent = blocks_->exact ? size : min(size, axes[0].extent - first);
  return axes;
}

Stmt Packing::each_panel(const Section& panels,
                         const std::function<Stmt(const Expr&, const Expr&)>& body) const {
  return loop(
      form_.vector_axis.var->name + "_o", panels.count, ForKind::serial,
      [&](const Expr& panel) { return body(panel, (panels.first + panel) * form_.width()); });
}

/// for each block of the reduction: copy the columns' operands; for each row of tiles: its tiles
Stmt Packing::task(const Substitution& values, const Section& items, const Section& panels) const {
  const std::int64_t waiting = form_.is_cut() ? grid_.rows * grid_.columns : 1;
  const TileResults aside(form_.nest, form_.tile, "_aside", {}, int_imm(i32, waiting));
  std::vector<Ptr<Buffer>> buffers;
  for (const Panel& panel : form_.columns) buffers.push_back(panel.copy);
  for (const Panel& panel : form_.rows) buffers.push_back(panel.copy);
  // The sums of all tiles wait for the next block.
  if (form_.is_cut()) std::ranges::copy(aside.buffers(), std::back_inserter(buffers));
  const std::string& reduced = form_.reduction[0].var->name;
  const Stmt blocks =
      loop(reduced + "_o", blocks_->count, ForKind::serial, [&](const Expr& number) {
        const std::vector<Axis> block = block_at(number);
        const Stmt copies = each_panel(panels, [&](const Expr& panel, const Expr& begin) {
          return copy_columns(form_, block, values, panel, begin);
        });
        return seq({copies, tiles(block, number, values, items, panels, aside)});
      });
  return with_buffers(form_.nest.name + "_panels", buffers, blocks);
}

Stmt Packing::tiles(const std::vector<Axis>& block, const Expr& number, const Substitution& values,
                    const Section& items, const Section& panels, const TileResults& aside) const {
  const Axis& tile_row = items_.back();
  const auto values_at = [&](const Expr& item) {
    Substitution all = values_of(items_, items.first + item, values);
    all[form_.row_axis.var] = form_.top_of(all.at(tile_row.var));
    return all;
  };
  const auto rows_from = [&](const Section& part) {
    return loop(tile_row.var->name, part.count, ForKind::serial, [&](const Expr& row) {
      const Expr item = part.first + row;
      const Substitution all = values_at(item);
      return each_panel(panels, [&](const Expr& panel, const Expr& begin) {
        const PackedTile tile{.block = block,
                              .number = number,
                              .values = all,
                              .top = all.at(form_.row_axis.var),
                              .begin = begin,
                              .row_panel = row,
                              .panel = panel};
        const Expr place = item * int_imm(item.dtype(), grid_.columns) + panel;
        return packed_tile(form_, tile, form_.is_cut() ? aside.of_tile(place) : aside);
      });
    });
  };
  if (form_.rows.empty()) return rows_from({zero_of(items.count.dtype()), items.count});
  const Expr together = int_imm(items.count.dtype(), tiles_together());
  return loop(tile_row.var->name + "_g", ceildiv(items.count, together), ForKind::serial,
              [&](const Expr& group) {
                const Section part = section_of(items.count, tiles_together(), group);
                const auto copied_at = [&](const Expr& row) { return values_at(part.first + row); };
                return seq({copy_rows(form_, block, part.count, copied_at), rows_from(part)});
              });
}

/// Nothing for a nest of another form, or with too few rows.
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
  Packing packing(packed, machine, *vector_axis, *row_axis, std::move(columns),
                  paired ? pairs : nullptr);
  const bool pays = packing.is_cut() && !is_const_int(packing.pays(), 0);
  return pays ? std::optional(std::move(packing)) : std::nullopt;
}

}  // namespace

bool is_packed(const Nest& nest, const CpuModel& machine) {
  return packing_of(nest, machine).has_value();
}

std::optional<PackedReduction> packed_reduction(const Nest& nest, const CpuModel& machine) {
  std::optional<Packing> packing = packing_of(nest, machine);
  if (!packing) return std::nullopt;
  return PackedReduction{.pays = packing->pays(), .stmt = packing->run(machine)};
}

}  // namespace loopsmith
