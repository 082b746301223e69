// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/register_tile.h"

#include <algorithm>
#include <bit>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Rows of a tile are streams that the processor reads ahead; more than this many are too many.
constexpr std::int64_t max_tile_rows = 8;
constexpr std::int64_t max_tile_vectors = 8;
/// Small tiles are 10 % slower, but compile faster: so much is a sum less worth, where the points
/// of a nest are no more than these.
constexpr double cost_of_code = 0.012;
constexpr std::int64_t max_points_for_small = std::int64_t{1} << 30;

/// Rows are copied as vectors, or as half of one: that much less is a sum worth then.
constexpr std::int64_t min_copied_rows = 4;
constexpr double cost_of_half_copies = 0.1;

/// The share of the work along an axis, in tiles of `size`, that is not beyond its end; less where
/// there is a border, which takes code of its own.
double covered(const std::optional<std::int64_t>& extent, std::int64_t size, double border) {
  if (!extent) return 1.0;
  const std::int64_t tiles = (*extent + size - 1) / size;
  if (tiles * size == *extent) return 1.0;
  return border * static_cast<double>(*extent) / static_cast<double>(tiles * size);
}

}  // namespace

std::optional<Axis> row_axis_of(const Nest& nest, const Axis& vector_axis) {
  const std::vector<NestAccess> accesses = accesses_in(nest.body);
  std::optional<Axis> found;
  for (const Axis& axis : nest.spatial()) {
    if (axis.var.same_as(vector_axis.var) || is_const_int(axis.extent, 1)) continue;
    const bool reused = std::ranges::any_of(accesses, [&](const NestAccess& access) {
      return !access.is_store && stride_along(access, vector_axis.var) != Stride::none &&
             stride_along(access, axis.var) == Stride::none;
    });
    if (reused) found = axis;
  }
  return found;
}

/// Of a step of the reduction: a multiplication for each vector of results; what a step takes
/// anyway, a load for each row and for each vector, by measurement.
RegisterTile choose_register_tile(const Nest& nest, const std::optional<Axis>& row_axis,
                                  const Axis& vector_axis, std::int64_t lanes,
                                  const CpuModel& machine, bool copies_rows) {
  const bool is_small = !copies_rows && point_count(nest.axes).value_or(0) <= max_points_for_small;
  const auto row_extent = row_axis ? constant_extent(*row_axis) : std::optional<std::int64_t>(1);
  const auto vector_extent = constant_extent(vector_axis);
  // Shorter vectors rather than masks where the axis fills none.
  if (vector_extent && *vector_extent > 0 && *vector_extent < lanes) {
    lanes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(*vector_extent)));
  }
  const std::int64_t last_row =
      std::clamp<std::int64_t>(row_extent.value_or(max_tile_rows), 1, max_tile_rows);
  const std::int64_t last_vector =
      vector_extent
          ? std::clamp<std::int64_t>((*vector_extent + lanes - 1) / lanes, 1, max_tile_vectors)
          : max_tile_vectors;
  RegisterTile best{.lanes = lanes};
  double best_score = 0;
  for (std::int64_t rows = 1; rows <= last_row; ++rows) {
    const bool is_half = 2 * rows == last_row && rows >= min_copied_rows;
    if (copies_rows && rows != last_row && !is_half) continue;
    const double copied = copies_rows && is_half ? 1.0 - cost_of_half_copies : 1.0;
    for (std::int64_t vectors = 1; vectors <= last_vector; ++vectors) {
      if (rows * vectors + vectors + 1 > machine.vector_registers) continue;
      const auto sums = static_cast<double>(rows * vectors);
      const double cost =
          sums + 3.0 + 0.4 * static_cast<double>(rows) + 0.5 * static_cast<double>(vectors);
      const double compiled = is_small ? 1.0 - cost_of_code * sums : 1.0;
      // Fewer sums than this wait for each other.
      const double score = compiled * copied * sums / cost * std::min(1.0, sums / 10.0) *
                           covered(row_extent, rows, 0.98) *
                           covered(vector_extent, vectors * lanes, is_small ? 0.93 : 0.98);
      if (score > best_score) {
        best_score = score;
        best = {.rows = rows, .vectors = vectors, .lanes = lanes};
      }
    }
  }
  return best;
}

Expr tiles_along(const Axis& axis, std::int64_t size) {
  return ceildiv(axis.extent, int_imm(axis.extent.dtype(), size));
}

bool divides(const Axis& axis, std::int64_t size) {
  const auto extent = constant_extent(axis);
  return size == 1 || (extent && *extent % size == 0);
}

Stmt each_result(const RegisterTile& tile, const Axis& axis,
                 const std::function<Stmt(const Expr& row, const Expr& column)>& body) {
  const DataType type = axis.extent.dtype();
  const std::string& name = axis.var->name;
  const Expr lanes = int_imm(type, tile.lanes);
  return loop(name + "_i", int_imm(type, tile.rows), ForKind::unrolled, [&](const Expr& row) {
    return loop(name + "_v", int_imm(type, tile.vectors), ForKind::unrolled,
                [&](const Expr& vector) {
                  return loop(name + "_l", lanes, ForKind::vectorized,
                              [&](const Expr& lane) { return body(row, vector * lanes + lane); });
                });
  });
}

TileResults::TileResults(const Nest& nest, const RegisterTile& tile, const std::string& suffix,
                         const std::string& scope, const Expr& count)
    : tile_(tile) {
  for (const NestAccess& access : accesses_in(nest.body)) {
    const bool known = std::ranges::any_of(
        stores_, [&](const NestAccess& store) { return store.buffer.same_as(access.buffer); });
    if (!access.is_store || known) continue;
    stores_.push_back(access);
    const Expr size = count * int_imm(count.dtype(), tile.rows * tile.width());
    copies_.push_back(
        decl_buffer({size}, access.buffer->dtype, access.buffer->name + suffix, scope));
  }
}

TileResults TileResults::of_tile(const Expr& number) const {
  TileResults one = *this;
  one.first_ = number * int_imm(number.dtype(), tile_.rows * tile_.width());
  return one;
}

std::vector<Expr> TileResults::place(const Expr& row, const Expr& column) const {
  return {first_ + (row * int_imm(row.dtype(), tile_.width()) + column)};
}

const Ptr<Buffer>& TileResults::copy_of(const Ptr<Buffer>& buffer) const {
  const auto store = std::ranges::find_if(
      stores_, [&](const NestAccess& each) { return each.buffer.same_as(buffer); });
  check(store != stores_.end(), "default_schedule", "{} is no result", buffer->name);
  return copies_[static_cast<std::size_t>(store - stores_.begin())];
}

Expr TileResults::at(const Ptr<Buffer>& buffer, const Expr& row, const Expr& column) const {
  return load(copy_of(buffer), place(row, column));
}

Stmt TileResults::set(const Ptr<Buffer>& buffer, const Expr& value, const Expr& row,
                      const Expr& column) const {
  return store(copy_of(buffer), value, place(row, column));
}

Stmt TileResults::redirected(const Stmt& stmt, const Expr& row, const Expr& column) const {
  const auto is_result = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(
        stores_, [&](const NestAccess& store) { return store.buffer.same_as(buffer); });
  };
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
    return is_result(access.buffer) ? at(access.buffer, row, column)
                                    : Expr(rewrite.children(access));
  });
  rewrite.on<BufferStore>([&](const BufferStore& access) -> Stmt {
    return set(access.buffer, rewrite(access.value), row, column);
  });
  return rewrite(stmt);
}

Stmt TileResults::write_back(const Substitution& values, const Expr& row,
                             const Expr& column) const {
  std::vector<Stmt> stores;
  for (const NestAccess& access : stores_) {
    stores.push_back(
        substitute(store(access.buffer, at(access.buffer, row, column), access.indices), values));
  }
  return seq(std::move(stores));
}

Stmt TileResults::copy_from(const TileResults& other, const Expr& row, const Expr& column) const {
  std::vector<Stmt> stores;
  for (const NestAccess& access : stores_) {
    stores.push_back(set(access.buffer, other.at(access.buffer, row, column), row, column));
  }
  return seq(std::move(stores));
}

}  // namespace loopsmith
