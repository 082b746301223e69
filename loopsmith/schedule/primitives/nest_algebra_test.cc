// SPDX-License-Identifier: Apache-2.0
// peel, shift, skew, distribute, merge_siblings, sink_if, hoist_if, reorder_statements,
// normalize_nest: what they make, and what they refuse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto vectors =
    R"(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32"))";

std::string refusal(const Ptr<PrimFunc>& func, const std::function<void(Schedule&)>& step) {
  Schedule sch(func);
  return error_of([&] { step(sch); });
}

TEST(peel, takes_iterations_from_both_ends) {
  const auto before = program(vectors, R"(
for i in range(10):
    B[i] = A[T.max(i - 1, 0)] + A[T.min(i + 1, 9)]
)");
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i");
  const auto loops = peel(sch, i, 1, 2);
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(loops[1], i);
  expect_result(sch, before, program(vectors, R"(
for i_first in range(1):
    B[i_first] = A[0] + A[1]
for i in range(1, 8):
    B[i] = A[i - 1] + A[i + 1]
for i_last in range(8, 10):
    B[i_last] = A[i_last - 1] + A[9]
)"));
}

TEST(peel, decides_what_is_special_in_a_part) {
  const auto before = program(vectors, R"(
for i in range(10):
    if i == 0:
        B[i] = A[i]
    else:
        B[i] = T.Select(i != 9, B[i - 1], T.float32(1)) + A[i]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  expect_result(sch, before, program(vectors, R"(
for i_first in range(1):
    B[i_first] = A[i_first]
for i in range(1, 9):
    B[i] = B[i - 1] + A[i]
for i_last in range(9, 10):
    B[i_last] = T.float32(1) + A[i_last]
)"));
}

TEST(peel, decides_where_indices_wrap_around) {
  const auto before = program("a: T.handle, b: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n,))
B = T.match_buffer(b, (n,))
for i in range(n):
    B[i] = A[(i + n - 1) % n] + A[(i + 1) % n]
)");
  Schedule sch(before);
  const auto parts = peel(sch, get_loop(sch, "i"), 1, 1);
  EXPECT_EQ(to_string(sch.get(parts[1]).body), "B[i] = A[i - 1] + A[i + 1]");
}

TEST(peel, tells_axes_of_any_order_their_values) {
  for (const std::string_view axis : {"opaque", "scan", "spatial", "reduce"}) {
    const auto before = program(vectors, fmt::format(R"(
for i in range(10):
    with T.block("B"):
        v = T.axis.{}(10, i)
        B[v] = T.Select(v > 0, B[T.max(v - 1, 0)], T.float32(0)) + A[v]
)",
                                                     axis));
    Schedule sch(before);
    const auto parts = peel(sch, get_loop(sch, "i"), 1, 0);
    parallel_scan(sch, parts[1], 4);
    expect_result(sch, before);
  }
}

TEST(peel, decides_values_that_a_part_shares) {
  const auto before = program(vectors, R"(
for i in range(3):
    for p in range(i + 1):
        half = 1 << (i - p)
        for t in range(half):
            B[t] = A[t + half] + B[t]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "p"), 0, 1);
  expect_result(sch, before, program(vectors, R"(
for i in range(3):
    for p in range(i):
        half = 1 << (i - p)
        for t in range(half):
            B[t] = A[t + half] + B[t]
    for p_last in range(i, i + 1):
        for t in range(1):
            B[t] = A[t + 1] + B[t]
)"));
}

TEST(peel, aligns_ends_of_triangles) {
  const auto before = program("a: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n))
for i in range(n):
    for j in range(i):
        A[i, j] = A[i, j] + T.float32(1)
)");
  Schedule sch(before);
  const auto rows = peel(sch, get_loop(sch, "i"), 0, 0, 0, 4);
  ASSERT_EQ(rows.size(), 2u);
  const auto row = split(sch, rows[0], {infer, 4})[1];
  const auto columns = peel(sch, get_child_loops(sch, row)[0], 0, 0, 0, 4);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_NE(body_of(sch).find("for j in range(i_0 * 4):"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("for j_last in range(i_0 * 4, i_0 * 4 + i_1):"), std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
}

TEST(peel, tells_blocks_their_values) {
  const auto before = program("a: T.handle, b: T.handle", R"(
n = T.int32(is_size_var=True)
A = T.match_buffer(a, (n,))
B = T.match_buffer(b, (n,))
for i in range(n):
    with T.block("B"):
        v = T.axis.spatial(n, i)
        B[v] = A[T.max(T.min(v - 1, n - 1), 0)] + A[T.min(v + 1, n - 1)]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  EXPECT_NE(body_of(sch).find("B[v] = A[v - 1] + A[v + 1]"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("B[v] = A[0] + "), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(fuse, counts_in_64_bits) {
  const auto before = program("a: T.handle", R"(
n = T.int32(is_size_var=True)
m = T.int32(is_size_var=True)
A = T.match_buffer(a, (n, m))
for i, j in T.grid(n, m):
    with T.block("A"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        A[v_i, v_j] = T.float32(1)
)");
  Schedule sch(before);
  const Handles<LoopRV> loops = get_loops(sch, get_block(sch, "A"));
  const LoopRV fused = fuse(sch, {loops[0], loops[1]}, true, std::nullopt, /*wide=*/true);
  EXPECT_EQ(sch.get(fused).loop_var->dtype, i64);
  expect_result(sch, before);
}

TEST(peel, aligns_loops_of_triangles) {
  const auto before = program("a: T.handle", R"(
n = T.int32()
A = T.match_buffer(a, (n, n))
for k in range(n):
    for j in range(k + 1, n):
        A[k, j] = A[k, j] + T.float32(1)
)");
  Schedule sch(before);
  split(sch, get_loop(sch, "k"), {infer, 4});
  const auto loops = peel(sch, get_loop(sch, "j"), 0, 0, 4);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[1], get_loop(sch, "j"));
  EXPECT_NE(body_of(sch).find("for j in range(k_0 * 4 + 4, k_0 * 4 + 4 + (n - k_0 * 4 - 4)):"),
            std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
}
TEST(peel, aligns_to_what_is_known) {
  const auto before = program(vectors, "for i in range(3, 10):\n    B[i] = A[i]\n");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1, 4);
  expect_result(sch, before, program(vectors, R"(
for i_first in range(3, 4):
    B[i_first] = A[i_first]
for i in range(4, 9):
    B[i] = A[i]
for i_last in range(9, 10):
    B[i_last] = A[i_last]
)"));
}
/// A window of five, through a buffer whose elements are computed where they are read.
Ptr<PrimFunc> window() {
  return program(R"(a: T.handle, c: T.handle)", R"(
n = T.int32()
A = T.match_buffer(a, (n + 4,), "float32")
C = T.match_buffer(c, (n,), "float32")
B = T.alloc_buffer((n + 4,))
for i in range(n + 4):
    with T.block("B"):
        vi = T.axis.spatial(n + 4, i)
        B[vi] = A[vi] * T.float32(2)
for j in range(n):
    with T.block("C"):
        vj = T.axis.spatial(n, j)
        C[vj] = B[vj] + B[vj + 2] * B[vj + 4]
)");
}

TEST(peel, gives_parts_what_each_iteration_has_for_itself) {
  const auto before = window();
  Schedule sch(before);
  const LoopRV j = get_loop(sch, "j");
  compute_at(sch, get_block(sch, "B"), j);
  for (const LoopRV part : peel(sch, j, 1, 2)) parallel(sch, part);
  expect_result(sch, before);
}

TEST(peel, gives_parts_rings_of_their_own) {
  const auto before = window();
  Schedule sch(before);
  const auto [outer, inner] = split(sch, get_loop(sch, "j"), {infer, 8}).take<2>();
  const BlockRV computed = get_block(sch, "B");
  compute_at(sch, computed, inner);
  store_at(sch, computed, outer);
  for (const LoopRV part : peel(sch, outer, 1, 1)) parallel(sch, part);
  expect_result(sch, before);
}

TEST(peel, leaves_memory_that_goes_from_one_iteration_to_the_next) {
  const auto before = program(vectors, R"(
t = T.alloc_buffer((2,))
t[0] = T.float32(0)
for i in range(10):
    t[(i + 1) % 2] = t[i % 2] + A[i]
    B[i] = t[(i + 1) % 2]
)");
  Schedule sch(before);
  peel(sch, get_loop(sch, "i"), 1, 1);
  expect_result(sch, before);
}

TEST(peel, starts_a_reduction_once) {
  const auto before = matmul(4, 3, 8);
  Schedule sch(before);
  peel(sch, get_loops(sch, get_block(sch, "C"))[2], 1, 1);
  EXPECT_TRUE(sch.get(get_block(sch, "C_first")).init.defined());
  EXPECT_FALSE(sch.get(get_block(sch, "C")).init.defined());
  EXPECT_FALSE(sch.get(get_block(sch, "C_last")).init.defined());
  expect_result(sch, before);
}

TEST(peel, refuses_what_is_not_there) {
  const auto func = program(vectors, "for i in range(10):\n    B[i] = A[i]\n");
  EXPECT_EQ(refusal(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 0, 0); }),
            "number_is_in_range: peel: 0 iterations of loop i are to come before it");
  EXPECT_EQ(refusal(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 1, -2); }),
            "number_is_in_range: peel: -2 iterations of loop i are to come after it");
  EXPECT_EQ(refusal(func, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 6, 5); }),
            "number_is_in_range: peel: 11 iterations are to be peeled of loop i, which has 10");
  const auto odd = program(vectors, "for i in range(0, 10, 2):\n    B[i] = A[i]\n");
  EXPECT_EQ(refusal(odd, [](Schedule& sch) { peel(sch, get_loop(sch, "i"), 1, 0, 4); }),
            "number_is_in_range: peel: loop i counts by 2, and is to start or end at a "
            "multiple of 4");
  const auto left = program(vectors, R"(
for i in range(10):
    B[i] = A[i]
    if A[i] > T.float32(0):
        break
)");
  EXPECT_EQ(refusal(left, [](Schedule& sch) { peel(sch, get_loop(sch, "i")); }),
            "iterations_reach_their_end: peel: a break ends loop i, or an iteration of it, early");
}

TEST(peel, refuses_to_part_reductions_of_unknown_length) {
  const auto func = program(R"(a: T.handle, C: T.Buffer((1,), "float32"))", R"(
n = T.int32()
A = T.match_buffer(a, (n,), "float32")
for k in range(n):
    with T.block("C"):
        vk = T.axis.reduce(n, k)
        with T.init():
            C[0] = T.float32(0)
        C[0] = C[0] + A[vk]
)");
  EXPECT_EQ(
      refusal(func, [](Schedule& sch) { peel(sch, get_loop(sch, "k")); }),
      "step_keeps_results: peel: results may change: block C starts its reduction in one of the "
      "iterations of loop k, whose bounds are no constants");
}

TEST(shift, renames_iterations) {
  const auto before = program(vectors, "for i in range(1, 9):\n    B[i] = A[i - 1]\n");
  Schedule sch(before);
  shift(sch, get_loop(sch, "i"), -1);
  expect_result(sch, before, program(vectors, "for i in range(8):\n    B[i + 1] = A[i]\n"));
  EXPECT_EQ(error_of([&] { shift(sch, get_loop(sch, "i"), std::int64_t{1} << 31); }),
            "number_is_in_range: shift: loop i shifted by 2147483648 leaves the range of its type, "
            "int32");
}

constexpr auto grid = R"(A: T.Buffer((10, 12), "float32"))";
constexpr auto seidel = R"(
for i, j in T.grid(8, 10):
    A[i + 1, j + 1] = (A[i, j + 1] + A[i + 1, j] + A[i + 2, j + 1] + A[i + 1, j + 2])
)";

TEST(skew, lets_a_wavefront_run_at_once) {
  const auto before = program(grid, seidel);
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j");
  EXPECT_EQ(error_of([&] { parallel(sch, i); }),
            "step_keeps_results: parallel: results would change: iterations of loop i depend on "
            "each other: "
            "iteration i=0, j=0 writes A[1, 1], iteration i=1, j=0 reads it");
  skew(sch, i, j);
  EXPECT_EQ(sch.name(j), "j");
  reorder(sch, {j, i});
  parallel(sch, i);
  expect_result(sch, before);
}

TEST(skew, refuses_loops_that_are_not_nested) {
  const auto func = program(grid, seidel);
  EXPECT_EQ(refusal(func, [](Schedule& sch) { skew(sch, get_loop(sch, "j"), get_loop(sch, "i")); }),
            "loop_is_around_loop: skew: loop j is not around loop i");
}

TEST(distribute, asks_a_condition_for_each_statement) {
  const auto before = program(vectors, R"(
for i in range(10):
    B[i] = A[i] * A[i]
    C[i] = B[i] + A[i]
)");
  Schedule sch(before);
  split(sch, get_loop(sch, "i"), {infer, 4});
  EXPECT_EQ(distribute(sch, get_loop(sch, "i_0")).size(), 2u);
  expect_result(sch, before, program(vectors, R"(
for i_0, i_1 in T.grid(3, 4):
    if i_0 * 4 + i_1 < 10:
        B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] * A[i_0 * 4 + i_1]
for i_0_1, i_1_1 in T.grid(3, 4):
    if i_0_1 * 4 + i_1_1 < 10:
        C[i_0_1 * 4 + i_1_1] = B[i_0_1 * 4 + i_1_1] + A[i_0_1 * 4 + i_1_1]
)"));
}
TEST(distribute, makes_a_block_of_each_part_of_one) {
  const auto before = program(vectors, R"(
for i in range(10):
    with T.block("both"):
        vi = T.axis.spatial(10, i)
        T.where(i < 8)
        B[vi] = A[vi] * A[vi]
        C[vi] = B[vi] + A[vi]
)");
  Schedule sch(before);
  const BlockRV both = get_block(sch, "both");
  const auto loops = distribute(sch, get_loop(sch, "i"));
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(get_loops(sch, both)[0], loops[0]);
  EXPECT_EQ(get_loops(sch, get_block(sch, "both_1"))[0], loops[1]);
  EXPECT_EQ(sch.get(both).reads.size(), 1u);
  expect_result(sch, before, program(vectors, R"(
for i in range(10):
    with T.block("both"):
        vi = T.axis.spatial(10, i)
        T.where(i < 8)
        B[vi] = A[vi] * A[vi]
for i_1 in range(10):
    with T.block("both_1"):
        vi = T.axis.spatial(10, i_1)
        T.where(i_1 < 8)
        C[vi] = B[vi] + A[vi]
)"));
}
TEST(distribute, refuses_blocks_that_parts_cannot_have) {
  const auto started = program(vectors, R"(
for i in range(10):
    with T.block("both"):
        vi = T.axis.reduce(10, i)
        with T.init():
            C[0] = T.float32(0)
        C[0] = C[0] + A[vi]
        B[vi] = A[vi]
)");
  const auto bound = program(
      R"(A: T.Buffer((10,), "float32"), P: T.Buffer((10,), "int32"), C: T.Buffer((10,), "float32"))",
      R"(
for i in range(10):
    with T.block("both"):
        vi = T.axis.opaque(10, P[i])
        A[vi] = T.float32(1)
        C[vi] = T.float32(2)
)");
  for (const auto& func : {started, bound}) {
    EXPECT_EQ(refusal(func, [](Schedule& sch) { distribute(sch, get_loop(sch, "i")); }),
              "statements_follow_each_other: distribute: loop i does not hold several statements "
              "that follow each other");
  }
}
TEST(distribute, leaves_conditions_that_statements_may_change) {
  const auto before = program(vectors, R"(
for i in range(10):
    if B[i] > T.float32(0):
        B[i] = A[i] - B[i]
        C[i] = B[i] + A[i]
)");
  EXPECT_EQ(refusal(before, [](Schedule& sch) { distribute(sch, get_loop(sch, "i")); }),
            "statements_follow_each_other: distribute: loop i does not hold several statements "
            "that follow "
            "each other");
}
TEST(distribute, parts_what_does_not_depend_on_each_other) {
  const auto before = program(vectors, R"(
for i in range(9):
    A[i + 1] = A[i] + T.float32(1)
    B[i] = A[i] * T.float32(2)
)");
  Schedule sch(before);
  const auto loops = distribute(sch, get_loop(sch, "i"));
  ASSERT_EQ(loops.size(), 2u);
  parallel(sch, loops[1]);
  expect_result(sch, before, program(vectors, R"(
for i in range(9):
    A[i + 1] = A[i] + T.float32(1)
for i_1 in T.parallel(9):
    B[i_1] = A[i_1] * T.float32(2)
)"));
}

TEST(distribute, keeps_together_what_needs_each_other) {
  const auto before = program(vectors, R"(
for i in range(9):
    A[i + 1] = B[i] + T.float32(1)
    B[i + 1] = A[i] * T.float32(2)
    C[i] = A[i] + B[i]
)");
  Schedule sch(before);
  EXPECT_EQ(distribute(sch, get_loop(sch, "i")).size(), 2u);
  EXPECT_EQ(error_of([&] { distribute(sch, get_loop(sch, "i")); }),
            "step_keeps_results: distribute: results would change: each statement of loop i needs "
            "what those after "
            "it make in earlier iterations: iteration i=0 writes B[1], iteration i=1 reads it");
  expect_result(sch, before);
}

TEST(distribute, refuses_other_bodies) {
  const auto one = program(vectors, "for i in range(9):\n    A[i] = T.float32(1)\n");
  EXPECT_EQ(refusal(one, [](Schedule& sch) { distribute(sch, get_loop(sch, "i")); }),
            "statements_follow_each_other: distribute: loop i does not hold several statements "
            "that follow "
            "each other");
  const auto left = program(vectors, R"(
for i in range(9):
    A[i] = T.float32(1)
    if B[i] > T.float32(0):
        continue
    C[i] = T.float32(1)
)");
  EXPECT_EQ(refusal(left, [](Schedule& sch) { distribute(sch, get_loop(sch, "i")); }),
            "iterations_reach_their_end: distribute: a continue ends loop i, or an iteration of "
            "it, early");
  const auto unknown = program(
      R"(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "int32"), C: T.Buffer((10,), "float32"))",
      R"(
for i in range(9):
    C[i] = A[B[i]]
    A[i] = T.float32(1)
)");
  EXPECT_EQ(
      refusal(unknown, [](Schedule& sch) { distribute(sch, get_loop(sch, "i")); }).substr(0, 126),
      "step_keeps_results: distribute: results may change: whether statements of loop i may run in "
      "loops of their own is unknown, as ");
}

TEST(reorder_statements, moves_what_is_independent) {
  const auto before = program(vectors, R"(
for i in range(10):
    A[i] = T.float32(1)
for j in range(10):
    C[j] = T.float32(3)
for k in range(10):
    B[k] = A[k] + T.float32(1)
)");
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j"), k = get_loop(sch, "k");
  reorder_statements(sch, BlockOrLoop(k), BlockOrLoop(j));
  EXPECT_EQ(error_of([&] { reorder_statements(sch, BlockOrLoop(k), BlockOrLoop(i)); }),
            "step_keeps_results: reorder_statements: results would change: k and `for i in "
            "range(10)` need each "
            "other in this order: iteration i=0 writes A[0], iteration k=0 reads it");
  expect_result(sch, before, program(vectors, R"(
for i in range(10):
    A[i] = T.float32(1)
for k in range(10):
    B[k] = A[k] + T.float32(1)
for j in range(10):
    C[j] = T.float32(3)
)"));
}

TEST(merge_siblings, aligns_loops_by_their_values) {
  const auto before = program(vectors, R"(
for i in range(10):
    A[i] = T.float32(1)
for j in range(10):
    C[j] = T.float32(3)
for k in range(9):
    B[k] = A[k + 1] + T.float32(1)
)");
  Schedule sch(before);
  const LoopRV i = get_loop(sch, "i"), k = get_loop(sch, "k");
  EXPECT_EQ(error_of([&] { merge_siblings(sch, {i, k}); }),
            "step_keeps_results: merge_siblings: results would change: loop k needs what a later "
            "iteration of loop i "
            "makes: iteration i=1 writes A[1], iteration k=0 reads it");
  shift(sch, k, 1);
  merge_siblings(sch, {i, k});
  expect_result(sch, before, program(vectors, R"(
for j in range(10):
    C[j] = T.float32(3)
for i_m in range(10):
    A[i_m] = T.float32(1)
    if 0 < i_m:
        B[i_m - 1] = A[i_m] + T.float32(1)
)"));
}

TEST(merge_siblings, refuses_what_stands_between) {
  const auto func = program(vectors, R"(
for i in range(10):
    A[i] = T.float32(1)
A[0] = T.float32(2)
for k in range(10):
    B[k] = A[k]
)");
  EXPECT_EQ(
      refusal(func,
              [](Schedule& sch) { merge_siblings(sch, {get_loop(sch, "i"), get_loop(sch, "k")}); }),
      "step_keeps_results: merge_siblings: results may change: `A[0] = T.float32(2)`, which stands "
      "between the "
      "loops, can go neither before nor after them");
}

constexpr auto square = R"(A: T.Buffer((10, 10), "float16"), B: T.Buffer((10,), "float32"))";
constexpr auto mixed = R"(
for i in range(10):
    if i % 2 == 0:
        for j in range(10):
            with T.block("block1"):
                A[i, j] = T.float16(1)
    else:
        for j in range(10):
            with T.block("block2"):
                A[i, j] = T.float16(2)
)";

TEST(sink_if, joins_the_loops_of_both_branches) {
  const auto before = program(square, mixed);
  Schedule sch(before);
  const BlockRV second = get_block(sch, "block2");
  sink_if(sch, get_loops(sch, get_block(sch, "block1"))[1]);
  EXPECT_EQ(sch.name(second), "block2");
  EXPECT_EQ(get_loops(sch, second), get_loops(sch, get_block(sch, "block1")));
  fuse(sch, {get_loops(sch, second)[0], get_loops(sch, second)[1]});
  expect_result(sch, before);
}

TEST(sink_if, refuses_conditions_that_change) {
  const auto func = program(square, R"(
for i in range(10):
    if B[0] < T.float32(5):
        for j in range(10):
            B[j] = B[j] + T.float32(1)
for i in range(10):
    if B[i] < T.float32(5):
        A[i, 0] = T.float16(1)
        for k in range(10):
            A[i, k] = T.float16(1)
)");
  EXPECT_EQ(refusal(func, [](Schedule& sch) { sink_if(sch, get_loop(sch, "j")); }),
            "step_keeps_results: sink_if: results may change: the condition B[0] < T.float32(5) "
            "reads what loop j writes");
  EXPECT_EQ(refusal(func, [](Schedule& sch) { sink_if(sch, get_loop(sch, "k")); }),
            "branches_have_the_form: sink_if: loop k is not all that a branch of an `if` holds");
  const auto other = program(square, R"(
for i in range(10):
    if B[i] < T.float32(5):
        for j in range(10):
            A[i, j] = T.float16(1)
    else:
        for k in range(9):
            A[i, k] = T.float16(1)
)");
  EXPECT_EQ(refusal(other, [](Schedule& sch) { sink_if(sch, get_loop(sch, "k")); }),
            "branches_have_the_form: sink_if: the other branch of the `if` around loop k is not "
            "a loop alike");
}

TEST(hoist_if, unswitches_a_loop) {
  const auto before = program(square, R"(
for i in range(10):
    for j in range(10):
        if B[i] > T.float32(0):
            A[i, j] = T.float16(1)
        else:
            A[i, j] = T.float16(2)
)");
  Schedule sch(before);
  EXPECT_EQ(hoist_if(sch, get_loop(sch, "j")).size(), 2u);
  expect_result(sch, before, program(square, R"(
for i in range(10):
    if B[i] > T.float32(0):
        for j in range(10):
            A[i, j] = T.float16(1)
    else:
        for j_1 in range(10):
            A[i, j_1] = T.float16(2)
)"));
  EXPECT_EQ(
      error_of([&] { hoist_if(sch, get_loop(sch, "i")); }),
      "branches_have_the_form: hoist_if: the condition B[i] > T.float32(0) depends on loop i");
  EXPECT_EQ(error_of([&] { hoist_if(sch, get_loop(sch, "j")); }),
            "branches_have_the_form: hoist_if: the body of loop j is not an `if`");
}

TEST(normalize_nest, makes_blocks_with_predicates) {
  const auto before = program(square, mixed);
  Schedule sch(before);
  normalize_nest(sch, get_loop(sch, "i"));
  expect_result(sch, before, program(square, R"(
for i, j in T.grid(10, 10):
    with T.block("block1"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        T.where(i % 2 == 0)
        A[v_i, v_j] = T.float16(1)
    with T.block("block2"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        T.where(not i % 2 == 0)
        A[v_i, v_j] = T.float16(2)
)"));
  const auto loops = get_loops(sch, get_block(sch, "block1"));
  const LoopRV fused = fuse(sch, {loops[0], loops[1]});
  const auto parts = split(sch, fused, {infer, 32});
  bind(sch, parts[0], "blockIdx.x");
  bind(sch, parts[1], "threadIdx.x");
}

TEST(normalize_nest, counts_from_zero) {
  const auto before = program(vectors, R"(
for i in range(1, 9, 2):
    B[i] = A[i] + T.float32(1)
    if A[i] > T.float32(0):
        A[i] = T.float32(0)
)");
  Schedule sch(before);
  const auto blocks = normalize_nest(sch, get_loop(sch, "i"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(sch.name(blocks[0]), "B");
  EXPECT_EQ(sch.name(blocks[1]), "A");
  expect_result(sch, before, program(vectors, R"(
for i in range(4):
    with T.block("B"):
        v_i = T.axis.spatial(4, i)
        B[v_i * 2 + 1] = A[v_i * 2 + 1] + T.float32(1)
    if A[i * 2 + 1] > T.float32(0):
        with T.block("A"):
            v_i = T.axis.spatial(4, i)
            A[v_i * 2 + 1] = T.float32(0)
)"));
  const auto left = program(vectors, R"(
for i in range(9):
    if B[i] > T.float32(0):
        break
    C[i] = T.float32(1)
)");
  EXPECT_EQ(refusal(left, [](Schedule& s) { normalize_nest(s, get_loop(s, "i")); }),
            "iterations_reach_their_end: normalize_nest: a break, continue or return ends loop i, "
            "or an iteration of it, early");
}

}  // namespace
}  // namespace loopsmith
