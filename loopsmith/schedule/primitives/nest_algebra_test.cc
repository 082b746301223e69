// SPDX-License-Identifier: Apache-2.0
// shift, skew, distribute, merge_siblings, sink_if, hoist_if, reorder_statements,
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

TEST(normalize_nest, refuses_loops_around_whose_bounds_change) {
  // A block without axes uses the loops around it, too.
  for (const char* nest : {"    for j in range(4):\n        B[j] = i\n",
                           "    with T.block('opaque'):\n        for j in range(4):\n"
                           "            B[j] = i\n"}) {
    Schedule sch(
        program("B: T.Buffer((4,), 'int32')", "for i in range(B[0]):\n" + std::string(nest)));
    EXPECT_EQ(error_of([&] { normalize_nest(sch, get_loop(sch, "j")); }),
              "step_keeps_results: normalize_nest: results may change: the bounds of loop i read "
              "what the body of loop i writes");
  }
}

TEST(normalize_nest, keeps_axes_that_read_memory_under_their_condition) {
  const auto before = program("A: T.Buffer((3,), 'int32'), B: T.Buffer((4,), 'int32')", R"(
for i in range(4):
    if i < 3:
        with T.block("B"):
            vi = T.axis.spatial(4, A[i] % 4)
            B[vi] = 1
)");
  Schedule sch(before);
  normalize_nest(sch, get_loop(sch, "i"));
  EXPECT_NE(body_of(sch).find("if i < 3:"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
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

TEST(normalize_nest, keeps_memory_as_long_as_loops_say) {
  const auto before = program(vectors, R"(
for i in range(1, 8):
    with T.block("copy"):
        D = T.alloc_buffer((i + 1,))
        D[i] = A[i]
        B[i] = D[i]
)");
  Schedule sch(before);
  normalize_nest(sch, get_loop(sch, "i"));
  expect_result(sch, before, program(vectors, R"(
for i in range(7):
    with T.block("copy"):
        v_i = T.axis.spatial(7, i)
        D = T.alloc_buffer((v_i + 1 + 1,))
        D[v_i + 1] = A[v_i + 1]
        B[v_i + 1] = D[v_i + 1]
)"));
}

TEST(normalize_nest, declares_regions_of_memory_as_large_as_loops_around_say) {
  const auto before = program(vectors, R"(
for i in range(1, 8):
    with T.block("outer"):
        D = T.alloc_buffer((i + 1,))
        for j in range(4):
            t = T.decl_buffer((1,))
            for r in range(2):
                if j * 2 + r < i + 1:
                    t[0] = A[j * 2 + r]
                    D[j * 2 + r] = t[0]
        B[i] = D[i]
)");
  Schedule sch(before);
  normalize_nest(sch, get_loop(sch, "j"));
  expect_result(sch, before);
}

}  // namespace
}  // namespace loopsmith
