// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/warp_tiling.h"

#include <algorithm>

#include "loopsmith/rules/gpu/nest_steps.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t min_tile = 16, max_rows = 256, max_columns = 128;
/// A multiprocessor has four schedulers, each of which wants a warp.
constexpr std::int64_t schedulers = 4;
/// What a row of a tile has of the reduction: a line of the caches.
constexpr std::int64_t bytes_of_step = 128;
constexpr std::int64_t max_stages = 4;

std::int64_t shared_bytes_of(const WarpTiling& tiling, const WarpTilingRequest& request) {
  constexpr std::int64_t gap = 16;
  const std::int64_t left = tiling.tile[0] * (tiling.step * request.operand_bytes + gap);
  const std::int64_t right = tiling.tile[1] * (tiling.step * request.operand_bytes + gap);
  // Where others read results, or a part is padding, they go through that memory afterwards.
  const std::int64_t results = tiling.tile[0] * (tiling.tile[1] * request.result_bytes + gap);
  return std::max(tiling.stages * (left + right), results);
}

std::int64_t blocks_of(const WarpTiling& tiling, const WarpTilingRequest& request) {
  const auto parts = [](std::optional<std::int64_t> extent, std::int64_t tile) {
    return extent ? (*extent + tile - 1) / tile : wanted_blocks;
  };
  return parts(request.rows, tiling.tile[0]) * parts(request.columns, tiling.tile[1]) *
         parts(request.batch, 1);
}

/// It takes all registers of a multiprocessor; others leave half to a second block.
bool is_largest(const WarpTiling& tiling) {
  return tiling.tile[0] * tiling.tile[1] == max_rows * max_columns;
}

void share_out_to_warps(WarpTiling& tiling) {
  const std::int64_t of_warp[] = {64, is_largest(tiling) ? 64 : 32};
  for (int side = 0; side < 2; ++side) {
    tiling.warps[side] = std::max<std::int64_t>(1, tiling.tile[side] / of_warp[side]);
  }
  for (const int side : {0, 1, 0, 1}) {
    if (tiling.warp_count() < schedulers && tiling.fragments(side) > 1) tiling.warps[side] *= 2;
  }
}

/// Tiles of 128 rows for two groups of four warps, where there are enough of them.
std::optional<WarpTiling> warpgroup_tiling(const WarpTilingRequest& request,
                                           const GpuLimits& device) {
  for (const std::int64_t columns : {256, 128}) {
    WarpTiling tiling{.tile = {128, columns}, .warps = {8, 1}, .step = 64, .stages = max_stages};
    tiling.is_of_warpgroups = true;
    // A block that has all registers takes all of the memory, too.
    const int blocks = columns == 256 ? 1 : 2;
    while (tiling.stages > 1 &&
           shared_bytes_of(tiling, request) * blocks > device.shared_pool_bytes) {
      --tiling.stages;
    }
    const bool has_steps = request.steps.value_or(tiling.step * max_stages) >= tiling.step * 2;
    if (has_steps && tiling.stages > 1 && blocks_of(tiling, request) >= wanted_blocks) {
      return tiling;
    }
  }
  return {};
}

}  // namespace

std::optional<WarpTiling> warp_tiling(const WarpTilingRequest& request, const GpuLimits& device) {
  WarpTiling tiling;
  const std::int64_t step = bytes_of_step / request.operand_bytes;
  tiling.step = power_of_two(request.steps.value_or(step), min_tile, step);
  tiling.tile[0] = power_of_two(request.rows.value_or(max_rows), min_tile, max_rows);
  tiling.tile[1] = power_of_two(request.columns.value_or(max_columns), min_tile, max_columns);
  const auto halve_the_larger = [&] { tiling.tile[tiling.tile[1] >= tiling.tile[0] ? 1 : 0] /= 2; };
  if (request.has_warpgroup_products) {
    if (const auto large = warpgroup_tiling(request, device)) return large;
  }
  while (blocks_of(tiling, request) < wanted_blocks &&
         std::max(tiling.tile[0], tiling.tile[1]) > 32)
    halve_the_larger();
  while (true) {
    share_out_to_warps(tiling);
    const std::int64_t steps =
        request.steps ? (*request.steps + tiling.step - 1) / tiling.step : max_stages;
    tiling.stages = device.has_async_copies ? std::clamp<std::int64_t>(steps, 1, max_stages) : 1;
    // Two blocks are to fit a multiprocessor; one has to.
    const int blocks = is_largest(tiling) ? 1 : 2;
    while (tiling.stages > 2 &&
           shared_bytes_of(tiling, request) * blocks > device.shared_pool_bytes) {
      --tiling.stages;
    }
    const bool fits = shared_bytes_of(tiling, request) <= device.shared_pool_bytes &&
                      tiling.warp_count() * device.warp_size <= device.threads_per_block;
    if (fits) return tiling;
    if (tiling.tile[0] > min_tile || tiling.tile[1] > min_tile) {
      halve_the_larger();
    } else if (tiling.step > min_tile) {
      tiling.step /= 2;
    } else {
      return {};
    }
  }
}

}  // namespace loopsmith::gpu
