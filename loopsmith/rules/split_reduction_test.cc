// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/split_reduction.h"

#include <gtest/gtest.h>

#include "loopsmith/te/te.h"

namespace loopsmith {
namespace {

/// How many parts the sums of so many columns get; 0: they stay whole.
std::int64_t parts_of_columns(const Expr& rows, const Expr& columns, const CpuModel& machine = {}) {
  const te::Tensor a = te::placeholder({rows, columns}, f32, "A");
  const te::IterVar k = te::reduce_axis(0, rows, "k");
  const te::Tensor b =
      te::compute({columns}, [&](const Expr& j) { return te::sum(a(k, j), {k}); }, "B");
  const auto func = te::create_prim_func({a, b});
  const Nest nest = nests_of(func->body.as<BlockRealize>()->block->body)[0];
  const auto cut = cut_of_reduction(nest, machine);
  return cut ? cut->parts : 0;
}

TEST(split_reduction, cuts_evenly_into_no_more_than_16_parts) {
  EXPECT_EQ(parts_of_columns(1 << 20, 4), 16);
  EXPECT_EQ(parts_of_columns(15 << 14, 8), 16);
  EXPECT_EQ(parts_of_columns(9 * 5 * 7 * 1001, 8), 15);
  EXPECT_EQ(parts_of_columns(5000, 300), 4);  // Of more than 1024 steps.
}

TEST(split_reduction, leaves_whole_what_is_short_or_has_many_results) {
  EXPECT_EQ(parts_of_columns(1'000'003, 8), 0);  // A prime number.
  EXPECT_EQ(parts_of_columns(1 << 16, 8), 0);
  EXPECT_EQ(parts_of_columns(1 << 16, 1024), 0);
  EXPECT_EQ(parts_of_columns(1 << 20, 1), 0);
  EXPECT_EQ(parts_of_columns(size_var("n"), 8), 0);
  EXPECT_EQ(parts_of_columns(1 << 20, size_var("n")), 0);
}

TEST(split_reduction, does_not_depend_on_threads) {
  EXPECT_EQ(parts_of_columns(1 << 18, 8, {.cores = 1}), 16);
  EXPECT_EQ(parts_of_columns(1 << 18, 8, {.cores = 64}), 16);
}

}  // namespace
}  // namespace loopsmith
