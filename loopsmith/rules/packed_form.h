// SPDX-License-Identifier: Apache-2.0
// What the parts of packed_reduction share.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/rules/combination.h"
#include "loopsmith/rules/dot_products.h"
#include "loopsmith/rules/panels.h"
#include "loopsmith/rules/register_tile.h"

namespace loopsmith {

/// A reduction whose operands are copied: its axes, its tile, its panels.
struct PackedForm {
  /// What becomes of rows of tiles that are not full.
  enum class LastRows {
    none,     ///< All of them are full.
    overlap,  ///< The last begins earlier, and computes some rows once more.
    repeat,   ///< Rows beyond the last are that one.
  };

  Nest nest;
  std::optional<Combination> combination;
  /// Where products of the nest stand for those of pairs; see dot_product_packing.h.
  const DotIntrinsic* dot_product = nullptr;
  /// How steps are summed by a tensor intrinsic, if they are: schedule_products.cc takes it.
  std::optional<DotProduct> steps_together = {};
  Axis vector_axis;
  Axis row_axis;
  std::vector<Axis> reduction;
  std::vector<Panel> columns;
  std::vector<Panel> rows;
  RegisterTile tile;
  LastRows last_rows = LastRows::none;
  bool columns_fit = true;  ///< Tiles cover the vector axis and nothing else.
  Expr block_count;         ///< Into how many blocks the reduction is cut.

  Expr width() const;
  bool is_cut() const;
  /// Sums that wait for the next block, and those of which not all are results, go to memory of
  /// their own first: so there is one piece of code that writes.
  bool goes_aside() const { return is_cut() || !columns_fit; }
  /// The first row of a row of tiles.
  Expr top_of(const Expr& tile_row) const;
  /// The axis' value for the row, or the column, at `offset`.
  Expr row_at(const Expr& offset) const;
  Expr column_at(const Expr& offset) const;
};

/// One of the tiles of a task.
struct PackedTile {
  std::vector<Axis> block;  ///< The reduction axes in one block.
  Expr number;              ///< The block's.
  Substitution values;      ///< Of the other axes.
  Expr top, begin;          ///< Its first row and column.
  Expr row_panel, panel;    ///< The numbers of its panels.
};

/// Copies the operands of a tile's columns that begin at `begin`, for one block of the reduction.
Stmt copy_columns(const PackedForm& form, const std::vector<Axis>& block,
                  const Substitution& values, const Expr& panel, const Expr& begin);

/// Copies the operands of `count` rows of tiles; `values_at(i)` has the values of the i-th one's
/// axes, its first row as that of the row axis.
Stmt copy_rows(const PackedForm& form, const std::vector<Axis>& block, const Expr& count,
               const std::function<Substitution(const Expr&)>& values_at);

/// Sums of a block; `aside` has those of the blocks before and is written back after the last.
Stmt packed_tile(const PackedForm& form, const PackedTile& tile, const TileResults& aside);

}  // namespace loopsmith
