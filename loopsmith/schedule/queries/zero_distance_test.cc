// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/zero_distance.h"

#include <gtest/gtest.h>

#include <string>

#include "loopsmith/ir/stmt.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Whether all pairs of accesses to A, of which one writes, are told apart along loop i, in which
/// two statements stand.
bool are_told_apart(const std::string& first, const std::string& second) {
  const auto func = program(R"(A: T.Buffer((1000, 1000), "int32"), m: T.int32)",
                            "for i in range(24):\n"
                            "    for j in range(10):\n"
                            "        A[" +
                                first +
                                "] = 1\n"
                                "    for k in range(10):\n"
                                "        A[" +
                                second + "] = 2\n");
  Schedule sch(func);
  const LoopRV loop = get_loop(sch, "i");
  const ElementAccesses accesses = accesses_inside(sch, sch.node(loop));
  for (const ElementAccess& a : accesses.all) {
    for (const ElementAccess& b : accesses.all) {
      if (!has_zero_distance(accesses, a, b, *sch.get(loop).loop_var)) return false;
    }
  }
  return true;
}

TEST(zero_distance, holds_where_the_loop_outweighs_what_else_differs) {
  EXPECT_TRUE(are_told_apart("i * 10 + j, 0", "i * 10 + k, 0"));
  EXPECT_FALSE(are_told_apart("i * 9 + j, 0", "i * 9 + k, 0"));
  EXPECT_FALSE(are_told_apart("i * 10 + j, 0", "i * 10 + k + 1, 0"));
  EXPECT_TRUE(are_told_apart("i * 11 + j, 0", "i * 11 + k + 1, 0"));
}

TEST(zero_distance, holds_where_digits_of_the_loop_are_told) {
  EXPECT_TRUE(are_told_apart("i // 4 * 10 + j, i % 4", "i // 4 * 10 + k, i % 4"));
  EXPECT_TRUE(are_told_apart("i // 4 * 10 + j, i % 4 * 20 + j", "i // 4 * 10 + k, i % 4 * 20"));
  EXPECT_FALSE(are_told_apart("i // 4 * 10 + j, 0", "i // 4 * 10 + k, 0"));
  EXPECT_FALSE(are_told_apart("i // 4 * 10 + j, i % 2", "i // 4 * 10 + k, i % 2"));
  EXPECT_FALSE(are_told_apart("i // 4 * 10 + j, i % 4 * 9 + j", "i // 4 * 10 + k, i % 4 * 9"));
}

TEST(zero_distance, holds_where_the_loop_is_a_lower_digit) {
  EXPECT_TRUE(are_told_apart("j * 24 + i, 0", "k * 24 + i, 0"));
  EXPECT_TRUE(are_told_apart("j * 48 + i + 24, 0", "k * 24 + i, 0"));
  EXPECT_TRUE(are_told_apart("j * 24 + i, 0", "k * 24 + i + 48, 0"));
  EXPECT_FALSE(are_told_apart("j * 23 + i, 0", "k * 23 + i, 0"));
  EXPECT_FALSE(are_told_apart("j * 24 + i, 0", "k * 24 + i + 1, 0"));
  EXPECT_FALSE(are_told_apart("j * 36 + i, 0", "k * 24 + i, 0"));
}

TEST(zero_distance, holds_where_one_dimension_tells_and_others_are_unknown) {
  EXPECT_TRUE(are_told_apart("i, j * j", "i, k * k"));
  EXPECT_FALSE(are_told_apart("i * i, j", "i * i, k"));
}

TEST(zero_distance, holds_where_digits_by_a_size_are_told) {
  const auto may_be_parallel = [](const std::string& extent, const std::string& index) {
    const auto func = program("a: T.handle", R"(
n = T.int32()
m = T.int32()
A = T.match_buffer(a, (n, )" + extent + R"(), "int32")
for f in range(n * m):
    A[)" + index + R"(] = f
)");
    Schedule sch(func);
    return parallel.can_apply(sch, {.loop = get_loop(sch, "f")});
  };
  EXPECT_TRUE(may_be_parallel("m", "f // m, f % m"));
  EXPECT_TRUE(may_be_parallel("m", "(f + 3) // m, (f + 3) % m"));
  EXPECT_FALSE(may_be_parallel("m", "(f + 3) // m, f % m"));
  EXPECT_FALSE(may_be_parallel("m", "f // n, f % m"));
  EXPECT_FALSE(may_be_parallel("m", "f // m, 0"));
  // Without elements there, m may be 0.
  EXPECT_FALSE(may_be_parallel("m + 1", "f // m, f % m"));
}

TEST(zero_distance, tells_digits_of_axes_where_their_base_is_positive) {
  const auto may_be_parallel = [](const std::string& extent) {
    Schedule sch(program(R"(m: T.int32, A: T.Buffer((64, 64), "int32"))", R"(
for f in range(8):
    with T.block("A"):
        vi = T.axis.spatial(64, f // m)
        vj = T.axis.spatial()" + extent + R"(, f % m)
        A[vi, vj] = A[vi, vj] * 2 + 1
)"));
    return parallel.can_apply(sch, {.loop = get_loop(sch, "f")});
  };
  EXPECT_TRUE(may_be_parallel("m"));
  // All iterations update one element where m is 0.
  EXPECT_FALSE(may_be_parallel("64"));
}

TEST(zero_distance, takes_what_is_fixed_around_for_equal) {
  EXPECT_TRUE(are_told_apart("m + i, j", "m + i, k"));
  EXPECT_FALSE(are_told_apart("m + i, j", "i, k"));
}

}  // namespace
}  // namespace loopsmith
