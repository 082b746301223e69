// SPDX-License-Identifier: Apache-2.0
// A tile of results that stays in registers while a reduction runs.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// `rows` results along the row axis times `vectors` vectors along the vector axis.
struct RegisterTile {
  std::int64_t rows = 1;
  std::int64_t vectors = 1;
  std::int64_t lanes = 1;

  std::int64_t width() const { return vectors * lanes; }
};

/// An axis along which some load does not move that moves along the vector axis: a tile of several
/// rows loads it once for all of them.
std::optional<Axis> row_axis_of(const Nest& nest, const Axis& vector_axis);

/// The tile whose accumulators fit the registers and that does most for what it loads; of a nest
/// that is done soon, one with less code. Where rows are copied, they are a vector, or half of one.
RegisterTile choose_register_tile(const Nest& nest, const std::optional<Axis>& row_axis,
                                  const Axis& vector_axis, std::int64_t lanes,
                                  const CpuModel& machine, bool copies_rows = false);

/// How many tiles of `size` it takes to cover an axis.
Expr tiles_along(const Axis& axis, std::int64_t size);

/// True when tiles of `size` are known to cover the axis and nothing else.
bool divides(const Axis& axis, std::int64_t size);

/// for r in rows: for v in vectors: for l in lanes: body(r, v * lanes + l)
///
/// Unrolled but for the lanes, which are one vector; the loops are named after `axis`.
Stmt each_result(const RegisterTile& tile, const Axis& axis,
                 const std::function<Stmt(const Expr& row, const Expr& column)>& body);

/// The results of tiles, beside the buffers that the nest writes.
class TileResults {
 public:
  /// Room for `count` of `tile` for each buffer, in memory of `scope`, `suffix` after its name.
  TileResults(const Nest& nest, const RegisterTile& tile, const std::string& suffix,
              const std::string& scope = {}, const Expr& count = 1);

  const std::vector<Ptr<Buffer>>& buffers() const { return copies_; }
  /// The same memory, of which all that follows means the tile of this number.
  TileResults of_tile(const Expr& number) const;
  /// The result at a place of the tile.
  Expr at(const Ptr<Buffer>& buffer, const Expr& row, const Expr& column) const;
  /// Sets that result.
  Stmt set(const Ptr<Buffer>& buffer, const Expr& value, const Expr& row, const Expr& column) const;
  /// `stmt` of the nest, on the copies.
  Stmt redirected(const Stmt& stmt, const Expr& row, const Expr& column) const;
  /// What the nest stores, from the copies.
  Stmt write_back(const Substitution& values, const Expr& row, const Expr& column) const;
  /// Sets a result of each buffer to that of `other`.
  Stmt copy_from(const TileResults& other, const Expr& row, const Expr& column) const;

 private:
  std::vector<Expr> place(const Expr& row, const Expr& column) const;
  const Ptr<Buffer>& copy_of(const Ptr<Buffer>& buffer) const;

  std::vector<NestAccess> stores_;  ///< One for each buffer.
  std::vector<Ptr<Buffer>> copies_;
  RegisterTile tile_;
  Expr first_ = 0;  ///< Where the tile begins.
};

}  // namespace loopsmith
