// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/regroupings.h"

#include <gtest/gtest.h>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view tensors =
    R"(A: T.Buffer((64, 24), "float32"), )"
    R"(X: T.Buffer((64,), "int32"), C: T.Buffer((24,), "float32"))";

/// Why loop `k` of these lines may not be parallel; empty when it may, and computes the same.
std::string parallel_of(std::string_view lines) {
  const auto func = program(tensors, lines);
  Schedule sch(func);
  const std::string error = error_of([&] { parallel(sch, get_loop(sch, "k")); });
  if (error.empty()) {
    EXPECT_TRUE(sch.steps().back().reorders_reduction);
    expect_result(sch, func);
  }
  return error;
}

TEST(partial_results, are_of_updates_that_stay_in_place) {
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    C[0] = C[0] + A[k, 0] - A[k, 1]
)"),
            "");
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    for j in range(24):
        if A[k, j] > T.float32(0):
            C[j] = T.max(C[j], A[k, j])
)"),
            "");
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    C[X[k] % 24] = C[X[k] % 24] + A[k, 0]
)"),
            "");
  EXPECT_EQ(parallel_of(R"(
for j in range(24):
    for k in range(64):
        C[j] = C[j] * A[k, j]
)"),
            "");
}

TEST(partial_results, are_of_each_combiner_by_itself) {
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    C[0] = T.min(C[0], A[k, 0])
    C[1] = T.max(C[1], A[k, 0])
    for j in range(5):
        C[j + 2] = C[j + 2] + A[k, j]
    C[9] = C[9] + A[k, 9]
)"),
            "");
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    for j in range(6):
        C[j] = T.min(C[j], A[k, 0])
    C[5] = C[5] + A[k, 0]
)")
                .substr(0, 18),
            "step_keeps_results");
}

TEST(partial_results, stand_beside_memory_of_each_iteration) {
  EXPECT_EQ(parallel_of(R"(
L = T.alloc_buffer((24,), "float32")
for k in range(64):
    for i in range(24):
        with T.block("L"):
            vk, vi = T.axis.remap("SS", [k, i])
            L[vi] = A[vk, vi] * T.float32(2)
    for j in range(24):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + L[vj]
)"),
            "");
}

TEST(partial_results, are_refused_where_results_are_used_or_move) {
  const std::string refused =
      "step_keeps_results: parallel: results would change: iterations of loop k update elements in "
      "common, of "
      "which they cannot have partial results: iteration k=0, j=2 reads C[2], iteration k=1, j=0 "
      "writes it";
  // Windows that overlap: each iteration has a place of its own.
  EXPECT_EQ(parallel_of(R"(
for k in range(11):
    for j in range(4):
        C[k * 2 + j] = C[k * 2 + j] + A[k, j]
)"),
            refused);
  EXPECT_EQ(parallel_of(R"(
for k in range(64):
    C[0] = C[0] + A[k, 0]
    C[1] = C[0]
)")
                .substr(0, 18),
            "step_keeps_results");
  EXPECT_EQ(parallel_of(R"(
for k in range(20):
    C[0] = C[0] + A[k, 0]
    if X[k] > 0:
        C[X[k]] = A[k, 1]
)")
                .substr(0, 18),
            "step_keeps_results");
}

TEST(partial_results, stand_beside_other_elements_of_their_buffer) {
  EXPECT_EQ(parallel_of(R"(
for k in range(20):
    C[0] = C[0] + A[k, 0]
    C[k + 1] = A[k, 1] * C[23]
    C[k + 1] = C[k + 1] / T.float32(3)
    C[21] = T.max(C[21], A[k, 2])
)"),
            "");
}

TEST(partial_results, are_fewer_where_they_are_large) {
  const auto count_of = [](int extent, int size, std::int64_t updates = 1) {
    const auto loop = for_loop(var("k"), 0, extent, no_op());
    const Accumulator one{.buffers = {decl_buffer({size}, f32, "C")},
                          .box = {arith::Interval{Expr(0), Expr(size - 1)}},
                          .updates = updates};
    return partial_result_count(*loop.as<For>(), {&one, 1});
  };
  EXPECT_EQ(count_of(15, 1), 1);
  EXPECT_EQ(count_of(50, 1), 6);
  EXPECT_EQ(count_of(100, 1), 8);
  EXPECT_EQ(count_of(100000, 1), 64);
  EXPECT_EQ(count_of(100000, 1 << 18), 16);
  // Where an iteration is work enough, each is a part.
  EXPECT_EQ(count_of(7, 10, 1000), 7);
  EXPECT_EQ(count_of(8, 10, 20), 2);
  EXPECT_EQ(count_of(100000, 1 << 22), 0);
}

TEST(partial_results, are_refused_where_they_would_be_too_large) {
  Schedule sch(
      program(R"(A: T.Buffer((64, 4194304), "float32"), C: T.Buffer((4194304,), "float32"))", R"(
for k in range(64):
    for j in range(4194304):
        with T.block("C"):
            vk, vj = T.axis.remap("RS", [k, j])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk, vj]
)"));
  EXPECT_EQ(error_of([&] { parallel(sch, get_loop(sch, "k")); }),
            "step_keeps_results: parallel: results would change: loop k is a reduction: iteration "
            "k=0, j=0 writes C[0], iteration k=1, j=0 reads it");
}

TEST(partial_results, are_of_loops_of_64_bits) {
  const auto func = program(tensors, R"(
for i, j, k in T.grid(8, 4, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("RRR", [i, j, k])
        with T.init():
            C[0] = T.float32(0)
        C[0] = C[0] + A[vi * 8 + vk, vj]
)");
  for (const bool is_outer : {false, true}) {
    Schedule sch(func);
    const LoopRV fused = fuse(sch, {get_loop(sch, "i"), get_loop(sch, "j")}, true, {}, true);
    parallel(sch, is_outer ? fused : get_loop(sch, "k"));
    expect_result(sch, func);
  }
}

}  // namespace
}  // namespace loopsmith
