// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// Vectors that a row of a tile has: whole pairs of cache lines, which processors fetch together.
constexpr std::int64_t vectors_a_row = 2;

/// A nest whose stores are contiguous along one axis and some of its loads along another.
class Transposition {
 public:
  Transposition(const Nest& nest, Axis stored, Axis loaded, const CpuModel& machine)
      : nest_(nest),
        stored_(std::move(stored)),
        loaded_(std::move(loaded)),
        lanes_(lanes_of(nest, machine)) {
    for (const Axis& axis : nest.spatial()) {
      if (!axis.var.same_as(stored_.var) && !axis.var.same_as(loaded_.var)) outer_.push_back(axis);
    }
    redirect();
  }

  /// Whether both axes are long enough for a tile.
  Expr fits() const {
    return stored_.extent >= int_imm(stored_.extent.dtype(), lanes_) &&
           loaded_.extent >= int_imm(loaded_.extent.dtype(), lanes_);
  }

  Stmt run() const {
    const DataType type = loaded_.extent.dtype();
    const std::int64_t size = lanes_ * vectors_a_row;
    std::vector<Axis> tasks = outer_;
    const Ptr<Var> piece = var(loaded_.var->name + "_o", type);
    tasks.push_back({piece, zero_of(type), ceildiv(loaded_.extent, int_imm(type, size))});
    return fused_loop(tasks, ForKind::parallel, {}, [&](const Substitution& values) {
      const auto [first, count] = section_of(loaded_.extent, size, values.at(piece));
      const Expr width = int_imm(stored_.extent.dtype(), lanes_);
      return loop(stored_.var->name + "_o", ceildiv(stored_.extent, width), ForKind::serial,
                  [&](const Expr& block) {
                    // The last block overlaps its neighbour.
                    const Expr column = min(block * width, stored_.extent - width);
                    return tile(values, first, count, column);
                  });
    });
  }

 private:
  /// A load across memory, and the tile that it becomes.
  struct Tile {
    NestAccess load;
    Ptr<Buffer> buffer;
  };

  void redirect() {
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      const NestAccess access{node.buffer, node.indices};
      if (stride_along(access, stored_.var) != Stride::other ||
          stride_along(access, loaded_.var) != Stride::one) {
        return make(node, node.dtype);
      }
      auto known = std::ranges::find_if(tiles_, [&](const Tile& tile) {
        return tile.load.buffer.same_as(node.buffer) &&
               std::ranges::equal(
                   tile.load.indices, node.indices,
                   [](const Expr& a, const Expr& b) { return structural_equal(a, b); });
      });
      if (known == tiles_.end()) {
        const std::vector<Expr> shape{int_imm(column_->dtype, lanes_),
                                      int_imm(row_->dtype, lanes_ * vectors_a_row)};
        tiles_.push_back(
            {access, decl_buffer(shape, node.dtype, node.buffer->name + "_tile", "local")});
        known = tiles_.end() - 1;
      }
      return load(known->buffer, {column_, row_});
    });
    body_ = rewrite(nest_.body);
  }

  /// Copies a tile of each load along its rows, then computes along the columns.
  Stmt tile(const Substitution& outside, const Expr& first, const Expr& count,
            const Expr& column) const {
    const auto with = [&](const Expr& row, const Expr& lane) {
      Substitution values = outside;
      values[loaded_.var] = loaded_.min + first + row;
      values[stored_.var] = stored_.min + column + lane;
      values[row_] = row;
      values[column_] = lane;
      return values;
    };
    const Expr width = int_imm(stored_.extent.dtype(), lanes_);
    const Axis rows{loaded_.var, zero_of(count.dtype()), count};
    std::vector<Stmt> parts;
    std::vector<Ptr<Buffer>> buffers;
    for (const Tile& tile : tiles_) {
      buffers.push_back(tile.buffer);
      parts.push_back(loop(stored_.var->name + "_l", width, ForKind::serial, [&](const Expr& lane) {
        return row_copy(rows, [&](const Expr& row) {
          return store(tile.buffer,
                       substitute(load(tile.load.buffer, tile.load.indices), with(row, lane)),
                       {lane, row});
        });
      }));
    }
    parts.push_back(loop(loaded_.var->name + "_i", count, ForKind::serial, [&](const Expr& row) {
      return loop(stored_.var->name + "_i", width, ForKind::vectorized,
                  [&](const Expr& lane) { return at(body_, with(row, lane)); });
    }));
    return with_buffers(nest_.name + "_tile", std::move(buffers), seq(std::move(parts)));
  }

  Stmt row_copy(const Axis& rows, const BodyOf& body) const {
    return constant_extent(rows) ? vectorized_loop(rows, lanes_, body)
                                 : masked_vectors(rows, lanes_, body);
  }

  const Nest& nest_;
  Axis stored_;
  Axis loaded_;
  std::int64_t lanes_;
  std::vector<Axis> outer_;
  Ptr<Var> row_ = var("row", loaded_.extent.dtype());
  Ptr<Var> column_ = var("column", stored_.extent.dtype());
  std::vector<Tile> tiles_;
  Stmt body_;
};

/// The axis along which loads that cross memory in lanes are contiguous.
std::optional<Axis> loaded_axis(const Nest& nest, const Axis& stored) {
  for (const NestAccess& access : accesses_in(nest)) {
    if (access.is_store || stride_along(access, stored.var) != Stride::other) continue;
    for (const Axis& axis : nest.spatial()) {
      if (!axis.var.same_as(stored.var) && stride_along(access, axis.var) == Stride::one) {
        return axis;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Stmt> transposed(const Nest& nest, const CpuModel& machine,
                               const std::function<Stmt()>& fallback) {
  const std::optional<Axis> stored = contiguous_axis(nest);
  const auto loaded = stored ? loaded_axis(nest, *stored) : std::nullopt;
  const bool reads_results = std::ranges::any_of(
      written_buffers(nest), [&](const Ptr<Buffer>& buffer) { return reads(nest, buffer); });
  if (!loaded || reads_results || nest.init || lanes_of(nest, machine) <= 1) return std::nullopt;
  const Transposition transposition(nest, *stored, *loaded, machine);
  const Expr fits = transposition.fits();
  if (is_const_int(fits, 0)) return std::nullopt;
  return is_const_int(fits, 1) ? transposition.run()
                               : either(fits, transposition.run(), fallback());
}

}  // namespace loopsmith
