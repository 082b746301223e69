// SPDX-License-Identifier: Apache-2.0
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with the
// block of the column operand in the second cache.
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/packing.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

class PackedLoops {
 public:
  explicit PackedLoops(Packing packing)
      : tiles_together_(packing.tiles_together()),
        form_(std::move(packing.form)),
        outer_(std::move(packing.outer)),
        items_(std::move(packing.items)),
        blocks_(std::move(packing.blocks)),
        grid_(packing.grid) {}

  Stmt run();

 private:
  Expr item_count() const { return number_of_points(items_); }
  void allocate_copies();
  std::vector<Axis> block_at(const Expr& number) const;
  Stmt task(const Substitution& values, const Section& items, const Section& panels) const;
  Stmt tiles(const std::vector<Axis>& block, const Expr& number, const Substitution& values,
             const Section& items, const Section& panels, const TileResults& aside) const;
  Stmt each_panel(const Section& panels,
                  const std::function<Stmt(const Expr& number, const Expr& begin)>& body) const;

  std::int64_t tiles_together_;
  PackedForm form_;
  std::vector<Axis> outer_;
  std::vector<Axis> items_;
  ReductionBlocks blocks_;
  WorkPartition grid_;
};

Stmt PackedLoops::run() {
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
  return fused_parallel_loop(tasks, [&](const Substitution& values) {
    const Expr& row = values.at(tasks[tasks.size() - 2].var);
    const Expr& column = values.at(tasks.back().var);
    return task(values, section_of(items, grid_.rows, row),
                section_of(panels, grid_.columns, column));
  });
}

void PackedLoops::allocate_copies() {
  std::vector<Axis> room = form_.reduction;
  room[0].extent = int_imm(room[0].extent.dtype(), blocks_.size);
  for (Panel& panel : form_.columns) {
    allocate_copy(panel, form_.vector_axis.var->name + "_panel", grid_.columns, room,
                  form_.tile.width());
  }
  for (Panel& panel : form_.rows) {
    allocate_copy(panel, form_.row_axis.var->name + "_panel", tiles_together_, room,
                  form_.tile.rows);
  }
}

/// The reduction axes in the block of this number.
std::vector<Axis> PackedLoops::block_at(const Expr& number) const {
  std::vector<Axis> axes = form_.reduction;
  const Expr size = int_imm(axes[0].extent.dtype(), blocks_.size);
  const Expr first = number * size;
  axes[0].min = axes[0].min + first;
  axes[0].extent = blocks_.exact ? size : min(size, axes[0].extent - first);
  return axes;
}

Stmt PackedLoops::each_panel(const Section& panels,
                             const std::function<Stmt(const Expr&, const Expr&)>& body) const {
  return loop(
      form_.vector_axis.var->name + "_o", panels.count, ForKind::serial,
      [&](const Expr& panel) { return body(panel, (panels.first + panel) * form_.width()); });
}

/// for each block of the reduction: copy the columns' operands; for each row of tiles: its tiles
Stmt PackedLoops::task(const Substitution& values, const Section& items,
                       const Section& panels) const {
  const std::int64_t waiting = form_.is_cut() ? grid_.rows * grid_.columns : 1;
  const TileResults aside(form_.nest, form_.tile, "_aside", {}, int_imm(i32, waiting));
  std::vector<Ptr<Buffer>> buffers;
  for (const Panel& panel : form_.columns) buffers.push_back(panel.copy);
  for (const Panel& panel : form_.rows) buffers.push_back(panel.copy);
  // The sums of all tiles wait for the next block.
  if (form_.is_cut()) std::ranges::copy(aside.buffers(), std::back_inserter(buffers));
  const std::string& reduced = form_.reduction[0].var->name;
  const Stmt blocks = loop(reduced + "_o", blocks_.count, ForKind::serial, [&](const Expr& number) {
    const std::vector<Axis> block = block_at(number);
    const Stmt copies = each_panel(panels, [&](const Expr& panel, const Expr& begin) {
      return copy_columns(form_, block, values, panel, begin);
    });
    return seq({copies, tiles(block, number, values, items, panels, aside)});
  });
  return with_buffers(form_.nest.name + "_panels", buffers, blocks);
}

Stmt PackedLoops::tiles(const std::vector<Axis>& block, const Expr& number,
                        const Substitution& values, const Section& items, const Section& panels,
                        const TileResults& aside) const {
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
  const Expr together = int_imm(items.count.dtype(), tiles_together_);
  return loop(tile_row.var->name + "_g", ceildiv(items.count, together), ForKind::serial,
              [&](const Expr& group) {
                const Section part = section_of(items.count, tiles_together_, group);
                const auto copied_at = [&](const Expr& row) { return values_at(part.first + row); };
                return seq({copy_rows(form_, block, part.count, copied_at), rows_from(part)});
              });
}

}  // namespace

std::optional<PackedReduction> packed_reduction(const Nest& nest, const CpuModel& machine) {
  std::optional<Packing> packing = packing_of(nest, machine);
  if (!packing) return std::nullopt;
  choose_grid(*packing, machine);
  const Expr pays = packing->pays();
  return PackedReduction{.pays = pays, .stmt = PackedLoops(*std::move(packing)).run()};
}

}  // namespace loopsmith
