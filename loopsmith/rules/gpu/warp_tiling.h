// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/ir/target.h"

namespace loopsmith::gpu {

/// What a product on tensor cores asks for.
struct WarpTilingRequest {
  std::optional<std::int64_t> rows, columns, steps;  ///< Extents, where they are known.
  std::optional<std::int64_t> batch = 1;
  std::int64_t operand_bytes = 2, result_bytes = 4;  ///< Of an element.
  /// Whether four warps may multiply together, from operands in shared memory.
  bool has_warpgroup_products = false;
};

/// How a block of threads makes a tile of results by fragments of 16 x 16.
struct WarpTiling {
  std::int64_t tile[2]{};   ///< Rows and columns.
  std::int64_t warps[2]{};  ///< Along both.
  std::int64_t step = 0;    ///< Of the reduction, whose tiles are in shared memory together.
  std::int64_t stages = 1;  ///< Steps of which tiles are in shared memory at once.
  /// Whether four warps multiply together: each has 16 rows of the tile, and all of its columns.
  bool is_of_warpgroups = false;

  std::int64_t fragments(int side) const { return tile[side] / warps[side] / 16; }
  std::int64_t warp_count() const { return warps[0] * warps[1]; }
};

/// Elements between rows in shared memory of `bytes` each: what makes 16 bytes, so that rows that
/// a warp loads at once lie in different banks.
constexpr std::int64_t gap_of(std::int64_t bytes) {
  return 16 / bytes;
}

/// The largest tile that the device holds: 256 x 128 results, 64 x 64 of them in the registers of
/// each of 8 warps, so that operands are read seldom; smaller ones, of at most 64 x 32 results a
/// warp, where there are fewer results than make a tile for each multiprocessor. None where not
/// even the smallest fits.
std::optional<WarpTiling> warp_tiling(const WarpTilingRequest& request, const GpuLimits& device);

}  // namespace loopsmith::gpu
