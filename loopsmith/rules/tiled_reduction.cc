// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/combination.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/register_tile.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// Work for the threads to balance among themselves, in pieces a thread.
constexpr std::int64_t pieces_a_thread = 4;

class Tiling {
 public:
  Tiling(const Nest& nest, const Axis& vector_axis, const CpuModel& machine)
      : nest_(nest),
        combination_(combination_of(nest)),
        machine_(machine),
        vector_axis_(vector_axis),
        row_axis_(row_axis_of(nest, vector_axis)),
        tile_(
            choose_register_tile(nest, row_axis_, vector_axis, lanes_of(nest, machine), machine)) {
    for (const Axis& axis : nest.spatial()) {
      const bool tiled =
          axis.var.same_as(vector_axis_.var) || (row_axis_ && axis.var.same_as(row_axis_->var));
      if (!tiled) outer_.push_back(axis);
    }
  }

  Stmt run() const { return row_axis_ ? rows() : columns(); }

 private:
  Expr index(std::int64_t value) const { return int_imm(vector_axis_.extent.dtype(), value); }

  /// No axis gives reuse: all points but the tile's are parallel.
  Stmt columns() const {
    const Expr whole = floordiv(vector_axis_.extent, index(tile_.width()));
    std::vector<Axis> points = outer_;
    const Ptr<Var> position = var(vector_axis_.var->name + "_o", vector_axis_.extent.dtype());
    points.push_back({position, zero_of(position->dtype), whole, false});
    const Stmt main = fused_parallel_loop(points, [&](const Substitution& values) {
      return tile(values, nullptr, values.at(position) * index(tile_.width()), tile_.vectors,
                  false);
    });
    const Stmt rest = fused_parallel_loop(outer_, [&](const Substitution& values) {
      return last_columns(whole * index(tile_.width()),
                          [&](const Expr& begin, std::int64_t vectors, bool masked) {
                            return tile(values, nullptr, begin, vectors, masked);
                          });
    });
    return seq({main, has_last_columns() ? rest : no_op()});
  }

  /// Tiles of several rows; a piece of the row axis a task.
  Stmt rows() const {
    const Expr tiles = tiles_along(*row_axis_, tile_.rows);
    const auto [pieces, size, exact] = cut(tiles);
    std::vector<Axis> tasks = outer_;
    const Ptr<Var> piece = var(row_axis_->var->name + "_p", tiles.dtype());
    tasks.push_back({piece, zero_of(tiles.dtype()), pieces, false});
    return fused_parallel_loop(tasks, [&](const Substitution& values) {
      const Expr first = values.at(piece) * size;
      const Expr count = exact ? size : max(zero_of(tiles.dtype()), min(size, tiles - first));
      return each_column_block([&](const Expr& begin, std::int64_t vectors, bool masked) {
        return loop(row_axis_->var->name + "_o", count, ForKind::serial, [&](const Expr& row) {
          const Expr top = (first + row) * int_imm(tiles.dtype(), tile_.rows);
          return tile(values, top, begin, vectors, masked);
        });
      });
    });
  }

  using ColumnBody = std::function<Stmt(const Expr& begin, std::int64_t vectors, bool masked)>;

  /// The vector axis in blocks of a tile's width, then what is left.
  Stmt each_column_block(const ColumnBody& body) const {
    const Expr width = index(tile_.width());
    const Expr whole = floordiv(vector_axis_.extent, width);
    const Stmt main =
        loop(vector_axis_.var->name + "_o", whole, ForKind::serial,
             [&](const Expr& block) { return body(block * width, tile_.vectors, false); });
    return seq({main, has_last_columns() ? last_columns(whole * width, body) : no_op()});
  }

  bool has_last_columns() const { return !divides(vector_axis_, tile_.width()); }

  Stmt last_columns(const Expr& begin, const ColumnBody& body) const {
    if (const auto extent = constant_extent(vector_axis_)) {
      const std::int64_t rest = *extent % tile_.width();
      return body(begin, (rest + tile_.lanes - 1) / tile_.lanes, rest % tile_.lanes != 0);
    }
    const Expr lanes = index(tile_.lanes);
    return loop(vector_axis_.var->name + "_t", ceildiv(vector_axis_.extent - begin, lanes),
                ForKind::serial,
                [&](const Expr& vector) { return body(begin + vector * lanes, 1, true); });
  }

  struct Pieces {
    Expr count;
    Expr size;
    bool exact;
  };

  /// Cuts rows of tiles into pieces, one a task.
  Pieces cut(const Expr& rows) const {
    const DataType type = rows.dtype();
    const auto outer_points = point_count(outer_);
    const std::int64_t wanted = pieces_a_thread * machine_.cores;
    if (outer_points && *outer_points >= wanted) return {int_imm(type, 1), rows, true};
    const std::int64_t* tiles = as_int(rows);
    if (!tiles || *tiles == 0) {
      return {int_imm(type, wanted), ceildiv(rows, int_imm(type, wanted)), false};
    }
    std::int64_t pieces = std::min(*tiles, wanted);
    while (pieces > machine_.cores && *tiles % pieces != 0) --pieces;
    const bool exact = *tiles % pieces == 0;
    return {int_imm(type, pieces), int_imm(type, (*tiles + pieces - 1) / pieces), exact};
  }

  /// One tile: clear the accumulators, reduce, write them back. Rows beyond the last are that one,
  /// once more.
  Stmt tile(const Substitution& outside, const Expr& top, const Expr& begin, std::int64_t vectors,
            bool masked) const {
    const RegisterTile shape{.rows = tile_.rows, .vectors = vectors, .lanes = tile_.lanes};
    const TileResults sums(nest_, shape, "_tile", "local");
    const bool rows_fit = !row_axis_ || divides(*row_axis_, tile_.rows);
    using ResultBody = std::function<Stmt(const Substitution& all, const Expr& row,
                                          const Expr& column, const Expr& mask)>;
    const auto each = [&](const Substitution& around, const ResultBody& body) {
      return each_result(shape, vector_axis_, [&](const Expr& row, const Expr& column) {
        Substitution all = around;
        if (row_axis_) {
          const Expr offset = top + row;
          const Expr last = row_axis_->extent - int_imm(offset.dtype(), 1);
          all[row_axis_->var] = row_axis_->min + (rows_fit ? offset : min(offset, last));
        }
        const Expr position = begin + column;
        all[vector_axis_.var] = vector_axis_.min + position;
        return body(all, row, column, masked ? position < vector_axis_.extent : Expr());
      });
    };
    const auto where = [](const Expr& mask, const Stmt& stmt) {
      return mask.defined() ? guarded(mask, stmt) : stmt;
    };

    const Stmt clear = each(outside, [&](const Substitution& all, const Expr& row,
                                         const Expr& column, const Expr& mask) {
      return where(combination_ ? Expr() : mask, sums.redirected(at(nest_.init, all), row, column));
    });
    const Stmt update = loops_over(nest_.reduction(), outside, [&](const Substitution& inside) {
      return each(inside, [&](const Substitution& all, const Expr& row, const Expr& column,
                              const Expr& mask) {
        if (!combination_) return where(mask, sums.redirected(at(nest_.body, all), row, column));
        const Ptr<Buffer>& target = combination_->target;
        const Expr source = combination_->source_at(all, mask);
        const Expr sum = combination_->combine(sums.at(target, row, column), source);
        return sums.set(target, sum, row, column);
      });
    });
    const Stmt write_back = each(
        outside, [&](const Substitution& all, const Expr& row, const Expr& column,
                     const Expr& mask) { return where(mask, sums.write_back(all, row, column)); });
    return with_buffers(nest_.name + "_tile", sums.buffers(), seq({clear, update, write_back}));
  }

  const Nest& nest_;
  std::optional<Combination> combination_;
  const CpuModel& machine_;
  Axis vector_axis_;
  std::optional<Axis> row_axis_;
  RegisterTile tile_;
  std::vector<Axis> outer_;
};

}  // namespace

Stmt tiled_reduction(const Nest& nest, const Axis& vector_axis, const CpuModel& machine) {
  return Tiling(nest, vector_axis, machine).run();
}

}  // namespace loopsmith
