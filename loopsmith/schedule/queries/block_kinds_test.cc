// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/block_kinds.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Why the instances of block B are not known, whose axes of 4 and of 6 values are bound to `i`
/// and `j` in a loop over f.
std::string why_unknown(std::string_view loop, std::string_view i, std::string_view j) {
  Schedule sch(program(R"(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32"))",
                       fmt::format(R"(
for f in {}:
    with T.block("B"):
        vi = T.axis.spatial(4, {})
        vj = T.axis.spatial(6, {})
        B[vi, vj] = A[vi, vj]
)",
                                   loop, i, j)));
  return instances_of(sch, get_block(sch, "B")).unknown;
}

TEST(instances_of, both_digits_of_a_loop_are_independent) {
  EXPECT_EQ(why_unknown("range(24)", "f // 6", "f % 6"), "");
  EXPECT_EQ(why_unknown("range(24)", "f % 4", "f // 4"), "");
  EXPECT_EQ(why_unknown("range(24)", "f // 6", "0"), "");
  EXPECT_NE(why_unknown("range(24)", "f // 6", "f % 4"), "");
  EXPECT_NE(why_unknown("range(24)", "f // 6", "f // 6"), "");
  EXPECT_NE(why_unknown("range(21)", "f // 6", "f % 6"), "");
  EXPECT_NE(why_unknown("range(1, 25)", "(f - 1) // 6", "f % 6"), "");
  EXPECT_NE(why_unknown("range(6)", "T.min(f, 3)", "f"), "");
}

TEST(instances_of, digits_of_a_loop_without_iterations_are_none) {
  EXPECT_EQ(why_unknown("range(0)", "f // 6", "f % 6"), why_unknown("range(0)", "f % 4", "f // 4"));
}

TEST(instances_of, digits_stand_beside_loops) {
  const auto before =
      program(R"(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32"))", R"(
for i, j in T.grid(64, 48):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
)");
  Schedule sch(before);
  const auto [i, j] = get_loops(sch, get_block(sch, "B")).take<2>();
  const auto [i0, i1] = split(sch, i, {infer, 16}).take<2>();
  const auto [j0, j1] = split(sch, j, {infer, 16}).take<2>();
  reorder(sch, {i0, j0, i1, j1});
  fuse(sch, {i0, j0});
  const Instances known = instances_of(sch, get_block(sch, "B"));
  EXPECT_EQ(known.unknown, "");
  EXPECT_TRUE(known.conditions.empty());
}

}  // namespace
}  // namespace loopsmith
