// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/block_axes.h"

#include <gtest/gtest.h>

#include <functional>

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

/// Takes `steps` of a program over n x m elements; the refusal, if there is one.
std::string error_of_steps(const std::function<void(Schedule&)>& steps) {
  const auto func = program("a: T.handle, n: T.int32, m: T.int32", R"(
A = T.match_buffer(a, (n, m), "float32")
for i, j in T.grid(n, m):
    with T.block("A"):
        vi, vj = T.axis.remap("SS", [i, j])
        A[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Schedule sch(func);
  const std::string refusal = error_of([&] { steps(sch); });
  if (refusal.empty()) expect_result(sch, func);
  return refusal;
}

TEST(block_axes, are_told_by_digits_of_any_extents) {
  EXPECT_EQ(error_of_steps([](Schedule& sch) {
              const LoopRV all = fuse(sch, get_loops(sch, get_block(sch, "A")));
              parallel(sch, split(sch, all, {16, infer})[0]);
            }),
            "");
  EXPECT_EQ(error_of_steps([](Schedule& sch) {
              const auto loops = get_loops(sch, get_block(sch, "A"));
              const auto i = split(sch, loops[0], {16, infer}),
                         j = split(sch, loops[1], {infer, 8});
              reorder(sch, {i[0], j[0], i[1], j[1]});
              parallel(sch, fuse(sch, {i[0], j[0]}));
            }),
            "");
  EXPECT_EQ(error_of_steps([](Schedule& sch) {
              const LoopRV all = fuse(sch, get_loops(sch, get_block(sch, "A")));
              const auto parts = split(sch, all, {4, infer, 8});
              parallel(sch, fuse(sch, {parts[0], parts[1]}));
            }),
            "");
}

TEST(block_axes, are_not_told_by_digits_that_overlap) {
  // i * 3 + j is 3 for i = 1, j = 0, and for i = 0, j = 3; and the extent of j varies.
  for (const std::string_view loops :
       {"for i in range(3):\n  m: T.int32 = 3 - i\n  for j in range(m):",
        "for i, j in T.grid(4, 5):", "for i in range(1, 4):\n  for j in range(3 * i):"}) {
    Schedule sch(
        program("A: T.Buffer((40,), 'float32')",
                fmt::format(R"(
{}
    with T.block("A"):
        v = T.axis.spatial(40, i * {} + j)
        A[v] = A[v] + T.float32(1)
)",
                            loops, loops.find("m:") == std::string_view::npos ? "3" : "m")));
    EXPECT_TRUE(error_of([&] {
                  parallel(sch, get_loop(sch, "i"));
                }).starts_with("step_keeps_results: parallel: results would change: "));
  }
}

TEST(block_axes, are_not_all_where_results_decide_on_instances) {
  EXPECT_TRUE(
      has_true_axes("T.axis.remap('SS', [i, j])\n        T.where(C[i] < T.float32(2))\n"
                    "        B[vi, vj] = A[vi, vj]"));
  EXPECT_FALSE(
      has_true_axes("T.axis.remap('SS', [i, j])\n        T.where(B[i, 0] < T.float32(2))\n"
                    "        B[vi, vj] = A[vi, vj]"));
}

TEST(block_axes, give_no_results_apart_where_results_decide_on_instances) {
  // What an iteration stores is what another one asks whether it runs, where, or how often.
  for (const char* nest : {"for i in range(4):\n    with T.block('B'):\n"
                           "        vi = T.axis.spatial(4, i)\n        T.where(B[3 - i] < 3)",
                           "for i in range(4):\n    with T.block('B'):\n"
                           "        vi = T.axis.spatial(4, (B[0] + i) % 4)",
                           "for i in range(4):\n  for j in range(B[0]):\n    with T.block('B'):\n"
                           "        vi = T.axis.spatial(4, i)"}) {
    Schedule sch(program("B: T.Buffer((4,), 'int32'), n: T.int32",
                         fmt::format("{}\n        B[vi] = n\n", nest)));
    const LoopRV loop = get_loop(sch, "i");
    for (const std::string& refusal :
         {error_of([&] { parallel(sch, loop); }), error_of([&] { vectorize(sch, loop); }),
          error_of([&] { bind(sch, loop, "threadIdx.x"); })}) {
      EXPECT_TRUE(refusal.starts_with("step_keeps_results")) << nest << "\n" << refusal;
    }
  }
}

}  // namespace
}  // namespace loopsmith
