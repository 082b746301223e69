// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/decompose_reduction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view matrices =
    R"(A: T.Buffer((9, 6), "float32"), B: T.Buffer((6, 8), "float32"),
         C: T.Buffer((9, 8), "float32"))";

TEST(decompose_reduction, puts_the_init_before_the_reduction) {
  const auto before = matmul(9, 8, 6);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto init = decompose_reduction(sch, c, get_loops(sch, c)[2]);
  EXPECT_EQ(sch.name(init), "C_init");
  EXPECT_EQ(sch.name(c), "C_update");
  expect_result(sch, before, program(matrices, R"(
for i, j in T.grid(9, 8):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = T.float32(0)
    for k in range(6):
        with T.block("C_update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)"));
}

TEST(decompose_reduction, copies_the_spatial_loops_inside) {
  const auto before = matmul(9, 8, 6);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  const auto [i_0, i_1] = split(sch, loops[0], {infer, 4}).take<2>();
  const auto [k_0, k_1] = split(sch, loops[2], {infer, 4}).take<2>();
  reorder(sch, {i_0, k_0, i_1, loops[1], k_1});
  const auto init = decompose_reduction(sch, c, k_0);
  EXPECT_EQ(get_loops(sch, init).size(), 3u);
  EXPECT_EQ(sch.name(get_loops(sch, init)[1]), "i_1_init");
  EXPECT_NE(body_of(sch).find("T.where(i_0 * 4 + i_1_init < 9)"), std::string::npos)
      << body_of(sch);
  expect_result(sch, before);
}

TEST(decompose_reduction, goes_before_the_whole_nest) {
  const auto before = matmul(9, 8, 6);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto init = decompose_reduction(sch, c, get_loops(sch, c)[0]);
  EXPECT_EQ(get_loops(sch, init).size(), 2u);
  expect_result(sch, before);
}

TEST(decompose_reduction, keeps_conditions_as_they_are_at_the_start) {
  const auto before = program(R"(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"))", R"(
for i, k in T.grid(8, 8):
    with T.block("C"):
        T.where(i + k < 6)
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = A[vi, 7]
        C[vi] = C[vi] + A[vi, vk]
)");
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  decompose_reduction(sch, c, get_loops(sch, c)[1]);
  EXPECT_NE(body_of(sch).find("T.where(i < 6)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(decompose_reduction, refuses_what_would_change_results) {
  Schedule sch(matmul(9, 8, 6));
  const auto c = get_block(sch, "C");
  const auto loops = get_loops(sch, c);
  reorder(sch, {loops[2], loops[0]});
  EXPECT_EQ(
      error_of([&] { decompose_reduction(sch, c, loops[0]); }),
      "loop_is_above_reduction: decompose_reduction: loop i is inside loop k, which is bound to a "
      "reduction axis of block C");
  decompose_reduction(sch, c, loops[2]);
  EXPECT_EQ(error_of([&] { decompose_reduction(sch, c, loops[2]); }),
            "block_is_reduction: decompose_reduction: block C_update is not a reduction block - it "
            "violates condition #1");
  Schedule two(two_stages());
  EXPECT_EQ(error_of([&] {
              decompose_reduction(two, get_block(two, "C"), get_loops(two, get_block(two, "B"))[0]);
            }),
            "loop_is_around_block: decompose_reduction: loop i is not around block C");
  Schedule late(program(R"(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"))", R"(
for i, k in T.grid(8, 7):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        vk = T.axis.reduce(8, k + 1)
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
)"));
  EXPECT_EQ(error_of([&] {
              decompose_reduction(late, get_block(late, "C"),
                                  get_loops(late, get_block(late, "C"))[1]);
            }),
            "step_keeps_results: decompose_reduction: results may change: the init of block C "
            "cannot go before loop k, as "
            "its reduction does not start at the first iteration");
}

TEST(decompose_reduction, refuses_loops_that_repeat_the_reduction) {
  Schedule sch(program(R"(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9, 8), "float32"))", R"(
S = T.alloc_buffer((9,))
for i, k in T.grid(9, 8):
    with T.block("S"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            S[vi] = T.float32(0)
        S[vi] = S[vi] + A[vi, vk]
for i, j in T.grid(9, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * S[vi]
)"));
  const auto func = sch.func();
  const BlockRV sums = get_block(sch, "S");
  compute_at(sch, sums, get_loops(sch, get_block(sch, "C"))[1]);
  const auto loops = get_loops(sch, sums);
  for (const LoopRV repeating : {loops[0], loops[1]}) {
    EXPECT_EQ(error_of([&] { decompose_reduction(sch, sums, repeating); }),
              fmt::format("step_keeps_results: decompose_reduction: results may change: the init "
                          "of block S cannot go "
                          "before loop {}, as its reduction does not start at the first iteration",
                          sch.get(repeating).loop_var->name));
  }
  decompose_reduction(sch, sums, loops[2]);
  interp::assert_same(func, sch.func());
}

TEST(decompose_reduction, refuses_windows_that_are_computed_again) {
  const auto before = program(R"(A: T.Buffer((8, 4), "float32"), C: T.Buffer((6,), "float32"))", R"(
B = T.alloc_buffer((8,))
for i, k in T.grid(8, 4):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(1)
        B[vi] = B[vi] + A[vi, vk]
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        C[vi] = B[vi] + B[vi + 2]
)");
  Schedule sch(before);
  const auto outer = get_loops(sch, get_block(sch, "C"))[0];
  compute_at(sch, get_block(sch, "B"), outer);
  EXPECT_EQ(error_of([&] { decompose_reduction(sch, get_block(sch, "B"), outer); }),
            "step_keeps_results: decompose_reduction: results may change: instances of "
            "`B[vi_init] = T.float32(1)` run more than once already");
  decompose_reduction(sch, get_block(sch, "B"), get_loops(sch, get_block(sch, "B"))[1]);
  expect_result(sch, before);
}

TEST(decompose_reduction, refuses_an_init_that_reads_what_changes) {
  Schedule sch(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32"))", R"(
B = T.alloc_buffer((4,))
for i in range(4):
    for k in range(2):
        with T.block("first"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi] = A[vi * 2 + vk]
    for k in range(2):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = B[vi]
            C[vi] = C[vi] + A[vi + vk]
)"));
  const BlockRV sum = get_block(sch, "sum");
  EXPECT_EQ(
      error_of([&] { decompose_reduction(sch, sum, get_loops(sch, sum)[0]); }),
      "step_keeps_results: decompose_reduction: results would change: first (vi=3, vk=1) writes "
      "B before sum_init (vi_init=3) reads it, and would come after that");
}

TEST(decompose_reduction, goes_before_a_loop_in_which_others_go_on_with_the_results) {
  const auto before = program(R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32"))", R"(
for i in range(8):
    for k in range(6):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    with T.block("mean"):
        vi = T.axis.spatial(8, i)
        C[vi] = C[vi] / T.float32(6)
)");
  Schedule sch(before);
  const BlockRV sum = get_block(sch, "sum");
  const BlockRV init = decompose_reduction(sch, sum, get_loops(sch, sum)[0]);
  EXPECT_EQ(get_loops(sch, init).size(), 1u);
  expect_result(sch, before);
}

TEST(decompose_reduction, starts_what_others_read_also_where_there_is_nothing_to_reduce) {
  const auto before = program(R"(a: T.handle, c: T.handle, n: T.int32)", R"(
A = T.match_buffer(a, (8, n), "float32")
C = T.match_buffer(c, (8,), "float32")
S = T.alloc_buffer((8,))
for i in range(8):
    for k in range(n):
        with T.block("sum"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(n, k)
            with T.init():
                S[vi] = T.float32(1)
            S[vi] = S[vi] + A[vi, vk]
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = S[vi]
)");
  Schedule sch(before);
  const BlockRV sum = get_block(sch, "sum");
  decompose_reduction(sch, sum, get_loops(sch, sum)[0]);
  expect_result(sch, before);
}

TEST(decompose_reduction, starts_nothing_in_iterations_that_a_break_leaves_out) {
  Schedule sch(program(R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32"))", R"(
for i in range(8):
    if A[i, 0] < T.float32(0):
        break
    for k in range(6):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)"));
  const BlockRV sum = get_block(sch, "sum");
  EXPECT_EQ(error_of([&] { decompose_reduction(sch, sum, get_loops(sch, sum)[0]); }),
            "step_keeps_results: decompose_reduction: results may change: how often a loop runs is "
            "up to its `break`");
}

TEST(decompose_reduction, refuses_inits_that_the_loop_still_decides) {
  const auto refused = [](const char* stored) {
    Schedule sch(
        program("B: T.Buffer((4,), 'int32'), D: T.Buffer((1,), 'int32')", fmt::format(R"(
for k in range(3):
    {}
    for i in range(D[0]):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(3, k)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + vk
)",
                                                                                      stored)));
    return error_of([&] { decompose_reduction(sch, get_block(sch, "B"), get_loop(sch, "k")); });
  };
  EXPECT_TRUE(refused("D[0] = k + 1").starts_with("step_keeps_results: decompose_reduction: "));
}

}  // namespace
}  // namespace loopsmith
