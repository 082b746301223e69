// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/warp_tiling.h"

#include <gtest/gtest.h>

namespace loopsmith::gpu {
namespace {

GpuLimits limits_of(const char* target) {
  return gpu_limits(Target(target));
}

TEST(warp_tiling, takes_the_largest_tile_for_a_large_product) {
  const auto tiling =
      warp_tiling({.rows = 4096, .columns = 4096, .steps = 4096}, limits_of("cuda -arch=sm_80"));
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->tile[0], 256);
  EXPECT_EQ(tiling->tile[1], 128);
  EXPECT_EQ(tiling->warp_count(), 8);
  EXPECT_EQ(tiling->step, 64);
}

TEST(warp_tiling, takes_smaller_tiles_where_few_would_leave_multiprocessors_idle) {
  const auto tiling =
      warp_tiling({.rows = 512, .columns = 512, .steps = 512}, limits_of("cuda -arch=sm_80"));
  ASSERT_TRUE(tiling);
  EXPECT_LT(tiling->tile[0] * tiling->tile[1], 64 * 64);
  EXPECT_EQ(tiling->warp_count(), 4);
}

TEST(warp_tiling, takes_as_many_stages_as_there_are_steps) {
  for (const std::int64_t steps : {1, 2, 3, 10}) {
    const auto tiling =
        warp_tiling({.rows = 64, .columns = 64, .steps = steps * 64}, limits_of("cuda"));
    ASSERT_TRUE(tiling);
    EXPECT_EQ(tiling->stages, std::min<std::int64_t>(steps, 4));
  }
}

TEST(warp_tiling, counts_bytes_of_a_step_and_not_elements) {
  const auto tiling = warp_tiling(
      {.rows = 4096, .columns = 4096, .steps = 4096, .operand_bytes = 1}, limits_of("cuda"));
  ASSERT_TRUE(tiling);
  EXPECT_EQ(tiling->step, 128);
}

TEST(warp_tiling, fits_shared_memory_or_is_none) {
  for (const std::int64_t kib : {163, 99, 48, 16, 8}) {
    GpuLimits limits = limits_of("cuda");
    limits.shared_pool_bytes = kib * 1024;
    const auto tiling = warp_tiling({}, limits);
    ASSERT_TRUE(tiling) << kib;
    // Results take the place of the operands when these are multiplied.
    EXPECT_LE(2 * tiling->tile[0] * tiling->step, limits.shared_pool_bytes);
    EXPECT_LE(4 * tiling->tile[0] * tiling->tile[1], limits.shared_pool_bytes);
  }
  GpuLimits limits = limits_of("cuda");
  limits.shared_pool_bytes = 1024;
  EXPECT_FALSE(warp_tiling({}, limits));
}

}  // namespace
}  // namespace loopsmith::gpu
