// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/block_axes.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Whether the axes of a block over i and j of 6 values are true ones; what is seen at a glance is
/// asked of the exact answer, too, which fails if they differ.
bool has_true_axes(std::string_view block, std::string_view around = "") {
  Schedule sch(program(
      R"(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32"), C: T.Buffer((6,), "float32"), n: T.int32)",
      fmt::format(R"(
for i, j in T.grid(6, 6):
    {}with T.block("B"):
        vi, vj = {}
)",
                  around, block)));
  sch.verify_quick_answers(true);
  const bool is_asked_exactly = axes_are_injective(sch, get_block(sch, "B"));
  Schedule quick(sch.mod());
  EXPECT_EQ(axes_are_injective(quick, get_block(quick, "B")), is_asked_exactly) << block;
  return is_asked_exactly;
}

TEST(axes_are_injective, sees_stores_at_their_axes) {
  EXPECT_TRUE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vj, vi] + T.exp(A[vi, vj]))"));
  EXPECT_TRUE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        B[vj, vi] = A[vj, 0] * T.Cast("float32", vi))"));
  EXPECT_TRUE(has_true_axes(R"(T.axis.remap("SR", [i, j])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vj])"));
  EXPECT_TRUE(has_true_axes(R"(T.axis.remap("SR", [i, j])
        with T.init():
            C[vi] = A[vi, 0]
        C[vi] = T.max(C[vi], A[vi, vj]))"));
}

TEST(axes_are_injective, sees_what_other_instances_access) {
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        C[vi] = A[vi, vj])"));
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        B[vi, vj] = B[vi, 0] + A[vi, vj])"));
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SR", [i, j])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + C[vj])"));
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SR", [i, j])
        C[vi] = A[vi, vj])"));
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        B[vi, vj] = T.call_extern("float32", "next", A[vi, vj]))"));
}

TEST(axes_are_injective, sees_names_around) {
  EXPECT_FALSE(has_true_axes(R"(T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * y)",
                             "y: T.float32 = A[j, i]\n    "));
}

}  // namespace
}  // namespace loopsmith
