// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// Rows of a tile are streams that the processor reads ahead; more than this many are too many.
constexpr std::int64_t most_rows = 8;
/// Work for the threads to balance among themselves, in pieces a thread.
constexpr std::int64_t panels_a_core = 4;
/// How many tiles must read a panel before copying it pays, and how large it may be.
constexpr std::int64_t fewest_readers = 4;
constexpr std::int64_t largest_panel_bytes = 1 << 20;

/// `rows` results along the row axis times `vectors` vectors along the vector axis.
struct Tile {
  std::int64_t rows = 1;
  std::int64_t vectors = 1;
};

/// The part of an axis that tiles of `size` cover whole, and the rest.
double covered(const std::optional<std::int64_t>& extent, std::int64_t size) {
  if (!extent) return 1.0;
  const std::int64_t whole = *extent / size * size;
  if (whole == *extent) return 1.0;
  // What is left needs a tile of its own: code, and a loop that runs below full speed.
  const std::int64_t tiles = (*extent + size - 1) / size;
  return 0.95 * static_cast<double>(*extent) / static_cast<double>(tiles * size);
}

/// The tile whose accumulators fit the registers and that loads least for each combination.
Tile choose_tile(const std::optional<Axis>& row_axis, const Axis& vector_axis, std::int64_t lanes,
                 const Machine& machine) {
  const auto row_extent = row_axis ? constant_extent(*row_axis) : std::optional<std::int64_t>(1);
  const auto vector_extent = constant_extent(vector_axis);
  const std::int64_t last_row = row_axis ? std::min(most_rows, row_extent.value_or(most_rows)) : 1;
  const std::int64_t last_vector =
      vector_extent ? std::max<std::int64_t>(1, (*vector_extent + lanes - 1) / lanes) : 8;
  Tile best;
  double best_score = 0;
  for (std::int64_t rows = 1; rows <= last_row; ++rows) {
    for (std::int64_t vectors = 1; vectors <= std::min<std::int64_t>(8, last_vector); ++vectors) {
      if (rows * vectors + vectors + 1 > machine.vector_registers) continue;
      const auto sums = static_cast<double>(rows * vectors);
      const double reuse = sums / (sums + 0.5 * static_cast<double>(rows + vectors));
      const double score = reuse * std::min(1.0, sums / 10.0) * covered(row_extent, rows) *
                           covered(vector_extent, vectors * lanes);
      if (score > best_score) {
        best_score = score;
        best = {rows, vectors};
      }
    }
  }
  return best;
}

/// An axis along which some load does not move that moves along the vector axis: a tile of several
/// rows loads it once for all of them.
std::optional<Axis> row_axis_of(const Nest& nest, const Axis& vector_axis) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  std::optional<Axis> found;
  for (const Axis& axis : nest.spatial()) {
    if (axis.var.same_as(vector_axis.var) || is_const_int(axis.extent, 1)) continue;
    const bool reused = std::ranges::any_of(accesses, [&](const NestAccess& access) {
      return !access.is_store && stride_along(access, vector_axis.var) == Stride::one &&
             stride_along(access, axis.var) == Stride::none;
    });
    if (reused) found = axis;
  }
  return found;
}

/// A buffer that is read row by row along the vector axis, copied so that a tile reads it in order.
struct Panel {
  NestAccess source;
  std::vector<Axis> axes;  ///< The reduction axes that it moves along.
  Ptr<Buffer> copy;        ///< Indexed by them, then by the place along the vector axis.
};

class Tiling {
 public:
  Tiling(const Nest& nest, const Axis& vector_axis, const Machine& machine)
      : nest_(nest),
        combination_(combination_of(nest)),
        machine_(machine),
        lanes_(lanes_of(nest, machine)),
        vector_axis_(vector_axis),
        row_axis_(row_axis_of(nest, vector_axis)),
        tile_(choose_tile(row_axis_, vector_axis, lanes_, machine)) {
    for (const Axis& axis : nest.spatial()) {
      const bool tiled =
          axis.var.same_as(vector_axis_.var) || (row_axis_ && axis.var.same_as(row_axis_->var));
      if (!tiled) outer_.push_back(axis);
    }
  }

  Stmt run() const { return row_axis_ ? rows() : columns(); }

 private:
  Expr index(const Axis& axis, std::int64_t value) const {
    return int_imm(axis.extent.dtype(), value);
  }

  /// No axis gives reuse: all points but the tile's are parallel.
  Stmt columns() const {
    const std::int64_t width = tile_.vectors * lanes_;
    const auto at_outer = [&](const Substitution& values, const Expr& begin, std::int64_t vectors,
                              bool masked) {
      return tile(values, nullptr, 1, begin, vectors, masked, {});
    };
    const Expr whole = floordiv(vector_axis_.extent, index(vector_axis_, width));
    std::vector<Axis> points = outer_;
    const Ptr<Var> position = var(vector_axis_.var->name + "_o", vector_axis_.extent.dtype());
    points.push_back({position, zero_of(position->dtype), whole, false});
    const Stmt main = fused_loop(points, ForKind::parallel, {}, [&](const Substitution& values) {
      return at_outer(values, values.at(position) * index(vector_axis_, width), tile_.vectors,
                      false);
    });
    const Stmt rest = fused_loop(outer_, ForKind::parallel, {}, [&](const Substitution& values) {
      return last_columns(whole * index(vector_axis_, width),
                          [&](const Expr& begin, std::int64_t vectors, bool masked) {
                            return at_outer(values, begin, vectors, masked);
                          });
    });
    return seq({main, has_last_columns() ? rest : no_op()});
  }

  /// Tiles of several rows; a piece of the row axis a task, which copies each panel once.
  Stmt rows() const {
    const Expr whole = floordiv(row_axis_->extent, index(*row_axis_, tile_.rows));
    const auto [pieces, size, exact] = cut(whole);
    std::vector<Axis> tasks = outer_;
    const Ptr<Var> piece = var(row_axis_->var->name + "_p", whole.dtype());
    tasks.push_back({piece, zero_of(whole.dtype()), pieces, false});
    const Stmt main = fused_loop(tasks, ForKind::parallel, {}, [&](const Substitution& values) {
      const Expr first = values.at(piece) * size;
      const Expr count = exact ? size : max(zero_of(whole.dtype()), min(size, whole - first));
      return each_column_block([&](const Expr& begin, std::int64_t vectors, bool masked) {
        const std::optional<Panel> panel = panel_for(vectors, whole);
        Stmt tiles =
            loop(row_axis_->var->name + "_o", count, ForKind::serial, [&](const Expr& row) {
              const Expr top = (first + row) * index(*row_axis_, tile_.rows);
              return tile(values, top, tile_.rows, begin, vectors, masked, panel);
            });
        if (!panel) return tiles;
        return with_buffers(panel->copy->name, {panel->copy},
                            seq({fill(*panel, values, begin, vectors, masked), tiles}));
      });
    });
    return seq({main, last_rows(whole)});
  }

  /// The rows that do not fill a tile.
  Stmt last_rows(const Expr& whole) const {
    const Expr top = whole * index(*row_axis_, tile_.rows);
    const auto extent = constant_extent(*row_axis_);
    const Expr count =
        extent ? Expr(1) : floormod(row_axis_->extent, index(*row_axis_, tile_.rows));
    const std::int64_t rows = extent ? *extent % tile_.rows : 1;
    if (rows == 0 || tile_.rows == 1) return no_op();
    return fused_loop(outer_, ForKind::parallel, {}, [&](const Substitution& values) {
      return loop(
          row_axis_->var->name + "_r", cast(top.dtype(), count), ForKind::serial,
          [&](const Expr& row) {
            return each_column_block([&](const Expr& begin, std::int64_t vectors, bool masked) {
              return tile(values, top + row, rows, begin, vectors, masked, {});
            });
          });
    });
  }

  using ColumnBody = std::function<Stmt(const Expr& begin, std::int64_t vectors, bool masked)>;

  /// The vector axis in blocks of a tile's width, then what is left.
  Stmt each_column_block(const ColumnBody& body) const {
    const Expr width = index(vector_axis_, tile_.vectors * lanes_);
    const Expr whole = floordiv(vector_axis_.extent, width);
    const Stmt main =
        loop(vector_axis_.var->name + "_o", whole, ForKind::serial,
             [&](const Expr& block) { return body(block * width, tile_.vectors, false); });
    return seq({main, has_last_columns() ? last_columns(whole * width, body) : no_op()});
  }

  bool has_last_columns() const {
    const auto extent = constant_extent(vector_axis_);
    return !extent || *extent % (tile_.vectors * lanes_) != 0;
  }

  Stmt last_columns(const Expr& begin, const ColumnBody& body) const {
    if (const auto extent = constant_extent(vector_axis_)) {
      const std::int64_t rest = *extent % (tile_.vectors * lanes_);
      return body(begin, (rest + lanes_ - 1) / lanes_, rest % lanes_ != 0);
    }
    const Expr lanes = index(vector_axis_, lanes_);
    return loop(vector_axis_.var->name + "_t", ceildiv(vector_axis_.extent - begin, lanes),
                ForKind::serial,
                [&](const Expr& vector) { return body(begin + vector * lanes, 1, true); });
  }

  struct Pieces {
    Expr count;
    Expr size;
    bool exact;
  };

  /// Cuts `whole` tiles of rows into pieces, one a task: few, so that panels are read often.
  Pieces cut(const Expr& whole) const {
    const DataType type = whole.dtype();
    const auto outer_points = point_count(outer_);
    const std::int64_t wanted = panels_a_core * machine_.cores;
    if (outer_points && *outer_points >= wanted) return {int_imm(type, 1), whole, true};
    const std::int64_t* tiles = as_int(whole);
    if (!tiles || *tiles == 0) {
      return {int_imm(type, wanted), ceildiv(whole, int_imm(type, wanted)), false};
    }
    std::int64_t pieces = std::min(*tiles, wanted);
    while (pieces > machine_.cores && *tiles % pieces != 0) --pieces;
    const bool exact = *tiles % pieces == 0;
    return {int_imm(type, pieces), int_imm(type, (*tiles + pieces - 1) / pieces), exact};
  }

  std::optional<Panel> panel_for(std::int64_t vectors, const Expr& whole) const {
    const std::int64_t* tiles = as_int(whole);
    if (!combination_ || (tiles && *tiles < fewest_readers)) return std::nullopt;
    for (const NestAccess& access : accesses_in(nest_.body)) {
      if (access.is_store || stride_along(access, vector_axis_.var) != Stride::one ||
          stride_along(access, row_axis_->var) != Stride::none) {
        continue;
      }
      Panel panel{.source = access, .axes = {}, .copy = nullptr};
      for (const Axis& axis : nest_.reduction()) {
        if (stride_along(access, axis.var) != Stride::none) panel.axes.push_back(axis);
      }
      const auto steps = point_count(panel.axes);
      const std::int64_t row_bytes = vectors * lanes_ * access.buffer->dtype.bytes();
      if (panel.axes.empty() || !steps || *steps < 2 || *steps * row_bytes > largest_panel_bytes)
        continue;
      std::vector<Expr> shape;
      for (const Axis& axis : panel.axes) shape.push_back(axis.extent);
      shape.push_back(index(vector_axis_, vectors * lanes_));
      panel.copy = decl_buffer(shape, access.buffer->dtype, access.buffer->name + "_panel");
      return panel;
    }
    return std::nullopt;
  }

  std::vector<Expr> panel_indices(const Panel& panel, const Substitution& values,
                                  const Expr& place) const {
    std::vector<Expr> indices;
    for (const Axis& axis : panel.axes) indices.push_back(values.at(axis.var) - axis.min);
    indices.push_back(place);
    return indices;
  }

  Stmt fill(const Panel& panel, const Substitution& values, const Expr& begin, std::int64_t vectors,
            bool masked) const {
    return loops_over(panel.axes, values, [&](const Substitution& outside) {
      return each_vector(vectors, [&](const Expr& place) {
        Substitution all = outside;
        all[vector_axis_.var] = vector_axis_.min + (begin + place);
        const Expr element = clone_with(load(panel.source.buffer, panel.source.indices), all);
        const Expr mask = begin + place < vector_axis_.extent;
        const Expr value = masked ? if_then_else(mask, element, zero_of(element.dtype())) : element;
        return store(panel.copy, value, panel_indices(panel, outside, place));
      });
    });
  }

  Stmt each_vector(std::int64_t vectors, const BodyOf& body) const {
    const std::string& name = vector_axis_.var->name;
    return loop(
        name + "_v", index(vector_axis_, vectors), ForKind::unrolled, [&](const Expr& vector) {
          return loop(
              name + "_l", index(vector_axis_, lanes_), ForKind::vectorized,
              [&](const Expr& lane) { return body(vector * index(vector_axis_, lanes_) + lane); });
        });
  }

  /// One tile: clear the accumulators, reduce, write them back.
  Stmt tile(const Substitution& outside, const Expr& top, std::int64_t rows, const Expr& begin,
            std::int64_t vectors, bool masked, const std::optional<Panel>& panel) const {
    std::vector<Ptr<Buffer>> sums;
    std::unordered_map<Ref, Ptr<Buffer>, RefHash, RefEqual> sum_of;
    const std::int64_t width = vectors * lanes_;
    for (const Ptr<Buffer>& buffer : written_buffers(nest_)) {
      sums.push_back(decl_buffer({index(vector_axis_, rows * width)}, buffer->dtype,
                                 buffer->name + "_tile", "local"));
      sum_of[buffer] = sums.back();
    }

    // Calls body(values of the spatial axes, place in the tile, mask) for each result.
    const auto each_result = [&](const Substitution& around,
                                 const std::function<Stmt(const Substitution&, const Expr&,
                                                          const Expr&, const Expr&)>& body) {
      const std::string name = row_axis_ ? row_axis_->var->name : "row";
      return loop(name + "_i", index(vector_axis_, rows), ForKind::unrolled, [&](const Expr& row) {
        return each_vector(vectors, [&](const Expr& column) {
          Substitution all = around;
          if (row_axis_) all[row_axis_->var] = row_axis_->min + (top + cast(top.dtype(), row));
          const Expr position = begin + column;
          all[vector_axis_.var] = vector_axis_.min + position;
          const Expr mask = masked ? position < vector_axis_.extent : Expr();
          return body(all, row * index(vector_axis_, width) + column, column, mask);
        });
      });
    };
    const auto in_registers = [&](const Stmt& stmt, const Substitution& all, const Expr& place) {
      Rewriter rewrite;
      rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
        const auto sum = sum_of.find(access.buffer);
        return sum == sum_of.end() ? Expr(rewrite.children(access)) : load(sum->second, {place});
      });
      rewrite.on<BufferStore>([&](const BufferStore& access) -> Stmt {
        return store(sum_of.at(access.buffer), rewrite(access.value), {place});
      });
      return rewrite(at(stmt, all));
    };

    const Stmt clear = each_result(
        outside, [&](const Substitution& all, const Expr& place, const Expr&, const Expr& mask) {
          const Stmt init = in_registers(nest_.init, all, place);
          return combination_ || !mask.defined() ? init : guarded(mask, init);
        });
    const Stmt update = loops_over(nest_.reduction(), outside, [&](const Substitution& inside) {
      return each_result(inside, [&](const Substitution& all, const Expr& place, const Expr& column,
                                     const Expr& mask) {
        if (!combination_) {
          const Stmt body = in_registers(nest_.body, all, place);
          return mask.defined() ? guarded(mask, body) : body;
        }
        const Ptr<Buffer>& sum = sums[0];
        const Combination combination = panel ? from_panel(*panel, all, column) : *combination_;
        const Expr source = combination.source_at(all, panel ? Expr() : mask);
        return store(sum, combination.combine(load(sum, {place}), source), {place});
      });
    });
    const Stmt write_back = each_result(outside, [&](const Substitution& all, const Expr& place,
                                                     const Expr&, const Expr& mask) {
      std::vector<Stmt> stores;
      for (const NestAccess& access : accesses_in(nest_.body)) {
        if (!access.is_store || std::ranges::any_of(stores, [&](const Stmt& done) {
              return done.as<BufferStore>()->buffer.same_as(access.buffer);
            })) {
          continue;
        }
        stores.push_back(substitute(
            store(access.buffer, load(sum_of.at(access.buffer), {place}), access.indices), all));
      }
      const Stmt all_stores = seq(std::move(stores));
      return mask.defined() ? guarded(mask, all_stores) : all_stores;
    });
    return with_buffers(nest_.name + "_tile", sums, seq({clear, update, write_back}));
  }

  /// The combination with loads of the panel's source read from its copy.
  Combination from_panel(const Panel& panel, const Substitution& values, const Expr& column) const {
    Combination combination = *combination_;
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
      const bool is_panel =
          access.buffer.same_as(panel.source.buffer) &&
          std::ranges::equal(access.indices, panel.source.indices,
                             [](const Expr& a, const Expr& b) { return a.same_as(b); });
      if (!is_panel) return rewrite.children(access);
      return load(panel.copy, panel_indices(panel, values, column));
    });
    combination.source = rewrite(combination.source);
    return combination;
  }

  const Nest& nest_;
  std::optional<Combination> combination_;
  const Machine& machine_;
  std::int64_t lanes_;
  Axis vector_axis_;
  std::optional<Axis> row_axis_;
  Tile tile_;
  std::vector<Axis> outer_;
};

}  // namespace

Stmt tiled_reduction(const Nest& nest, const Axis& vector_axis, const Machine& machine) {
  return Tiling(nest, vector_axis, machine).run();
}

}  // namespace loopsmith
