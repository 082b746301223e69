// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/compute_at.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view a_and_c =
    R"(A: T.Buffer((96, 64), "float32"), C: T.Buffer((96, 64), "float32"))";

TEST(compute_at, computes_what_an_iteration_reads) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto b = get_block(sch, "B");
  compute_at(sch, b, get_loops(sch, get_block(sch, "C"))[0]);
  EXPECT_EQ(sch.name(get_loops(sch, b)[1]), "ax0");
  expect_result(sch, before, program(a_and_c, R"(
B = T.alloc_buffer((96, 64))
for i in range(96):
    for ax0 in range(64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, ax0])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for j in range(64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

TEST(compute_at, keeps_loops_of_one_iteration_when_asked) {
  const auto before = two_stages();
  Schedule sch(before);
  compute_at(sch, get_block(sch, "B"), get_loops(sch, get_block(sch, "C"))[0], true);
  expect_result(sch, before, program(a_and_c, R"(
B = T.alloc_buffer((96, 64))
for i in range(96):
    for ax0, ax1 in T.grid(1, 64):
        with T.block("B"):
            vi = T.axis.spatial(96, i + ax0)
            vj = T.axis.spatial(64, ax1)
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for j in range(64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

TEST(compute_at, takes_over_conditions_of_its_reader_in_place_of_guards) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto tiles = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 8});
  const auto parts = split(sch, tiles[0], {infer, 5});
  compute_at(sch, get_block(sch, "B"), parts[1]);
  expect_result(sch, before, program(a_and_c, R"(
B = T.alloc_buffer((96, 64))
for i_0_0, i_0_1 in T.grid(3, 5):
    for ax0, ax1 in T.grid(8, 64):
        with T.block("B"):
            T.where(i_0_0 * 5 + i_0_1 < 12)
            vi = T.axis.spatial(96, i_0_0 * 40 + i_0_1 * 8 + ax0)
            vj = T.axis.spatial(64, ax1)
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i_1, j in T.grid(8, 64):
        with T.block("C"):
            T.where(i_0_0 * 5 + i_0_1 < 12)
            vi = T.axis.spatial(96, i_0_0 * 40 + i_0_1 * 8 + i_1)
            vj = T.axis.spatial(64, j)
            C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

TEST(compute_at, guards_what_a_split_consumer_does_not_reach) {
  const auto before = two_stages();
  Schedule sch(before);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 20});
  compute_at(sch, get_block(sch, "B"), parts[0]);
  expect_result(sch, before, program(a_and_c, R"(
B = T.alloc_buffer((96, 64))
for i_0 in range(5):
    for ax0, ax1 in T.grid(20, 64):
        with T.block("B"):
            T.where(i_0 * 20 + ax0 < 96)
            vi = T.axis.spatial(96, i_0 * 20 + ax0)
            vj = T.axis.spatial(64, ax1)
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i_1, j in T.grid(20, 64):
        with T.block("C"):
            T.where(i_0 * 20 + i_1 < 96)
            vi = T.axis.spatial(96, i_0 * 20 + i_1)
            vj = T.axis.spatial(64, j)
            C[vi, vj] = B[vi, vj] * T.float32(2)
)"));
}

/// Each thread i computes its row: P from A, and what `copy` and the last line say from P.
Ptr<PrimFunc> rows_of_threads(std::string_view copy) {
  return program(a_and_c, fmt::format(R"(
P = T.alloc_buffer((96, 64), scope="shared")
Q = T.alloc_buffer((96, 64), scope="shared")
for i in T.thread_binding(96, thread="vthread.x"):
    for j in range(64):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = A[vi, vj] + T.float32(1)
{}
                C[vi, vj] = Q[vi, vj] * T.float32(2)
)",
                                      copy));
}

TEST(compute_at, computes_only_its_own_inside_of_threads) {
  const auto before = rows_of_threads(R"(
    for j in range(64):
        with T.block("Q"):
            vi, vj = T.axis.remap("SS", [i, j])
            Q[vi, vj] = P[vi, vj]
    for j_0 in range(8):
        for j_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(96, i)
                vj = T.axis.spatial(64, j_0 * 8 + j_1))");
  Schedule sch(before);
  compute_at(sch, get_block(sch, "Q"), get_loop(sch, "j_0"));
  expect_result(sch, before, rows_of_threads(R"(
    for j_0 in range(8):
        for ax0 in range(8):
            with T.block("Q"):
                vi = T.axis.spatial(96, i)
                vj = T.axis.spatial(64, j_0 * 8 + ax0)
                Q[vi, vj] = P[vi, vj]
        for j_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(96, i)
                vj = T.axis.spatial(64, j_0 * 8 + j_1))"));
}

TEST(compute_at, serves_stencils_and_several_consumers) {
  const auto before = program(R"(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32"),
         D: T.Buffer((32,), "float32"))",
                              R"(
B = T.alloc_buffer((34,))
for i in range(34):
    with T.block("B"):
        vi = T.axis.spatial(34, i)
        B[vi] = A[vi] * A[vi]
for i in range(32):
    with T.block("C"):
        vi = T.axis.spatial(32, i)
        C[vi] = B[vi] + B[vi + 1]
    with T.block("D"):
        vi = T.axis.spatial(32, i)
        D[vi] = B[vi + 1] - B[vi + 2]
)");
  {
    Schedule sch(before);
    compute_at(sch, get_block(sch, "B"), get_loops(sch, get_block(sch, "C"))[0]);
    EXPECT_NE(body_of(sch).find("for ax0 in range(3):\n            with T.block(\"B\"):\n"
                                "                vi = T.axis.spatial(34, i + ax0)\n"),
              std::string::npos)
        << body_of(sch);
    expect_result(sch, before);
  }
  Schedule sch(before);
  const auto outer = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 5})[0];
  compute_at(sch, get_block(sch, "B"), outer);
  EXPECT_NE(body_of(sch).find("for ax0 in range(7):"), std::string::npos) << body_of(sch);
  EXPECT_NE(body_of(sch).find("T.where(i_0 * 5 + ax0 < 34)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(compute_at, moves_reductions_and_follows_layouts) {
  const auto before =
      program(R"(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16,), "float32"))", R"(
B = T.alloc_buffer((4, 4))
for i, k in T.grid(16, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi // 4, vi % 4] = T.float32(0)
        B[vi // 4, vi % 4] = B[vi // 4, vi % 4] + A[vi, vk]
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = B[vi // 4, vi % 4]
)");
  {
    Schedule sch(before);
    compute_at(sch, get_block(sch, "B"), get_loops(sch, get_block(sch, "C"))[0]);
    EXPECT_NE(body_of(sch).find("for ax0 in range(8):"), std::string::npos) << body_of(sch);
    expect_result(sch, before);
  }
  Schedule sch(before);
  const auto outer = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 4})[0];
  compute_at(sch, get_block(sch, "B"), outer);
  EXPECT_NE(body_of(sch).find("for ax0, ax1 in T.grid(4, 8):"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(compute_at, serves_consumers_without_blocks_and_under_conditions) {
  const auto before =
      program(R"(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32"))", R"(
B = T.alloc_buffer((8, 6))
for i, j in T.grid(8, 6):
    if j < 4:
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
for x in range(8):
    for y in range(6):
        if y < 4:
            C[x, y] = B[7 - x, y]
)");
  Schedule sch(before);
  compute_at(sch, get_block(sch, "B"), get_loop(sch, "x"));
  EXPECT_NE(body_of(sch).find("T.where(ax0 < 4)"), std::string::npos) << body_of(sch);
  expect_result(sch, before);
}

TEST(compute_at, follows_symbolic_sizes) {
  const auto before = program(R"(a: T.handle, c: T.handle, n: T.int32)", R"(
A = T.match_buffer(a, (n,))
C = T.match_buffer(c, (n,))
B = T.alloc_buffer((n,))
for i in range(n):
    with T.block("B"):
        vi = T.axis.spatial(n, i)
        B[vi] = A[vi] + T.float32(1)
for i in range(n):
    with T.block("C"):
        vi = T.axis.spatial(n, i)
        C[vi] = B[n - 1 - vi]
)");
  Schedule sch(before);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 4});
  compute_at(sch, get_block(sch, "B"), parts[0]);
  expect_result(sch, before);
}

constexpr auto output_and_its_reader = R"(
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + T.float32(1)
for i in range({}):
    with T.block("C"):
        vi = T.axis.spatial({}, i)
        C[vi] = B[vi] * T.float32(2)
)";

TEST(compute_at, moves_an_output_that_is_computed_whole_there) {
  const auto arguments = R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"),
         C: T.Buffer((8,), "float32"))";
  const auto before = program(arguments, fmt::format(output_and_its_reader, 8, 8));
  Schedule sch(before);
  compute_at(sch, get_block(sch, "B"), get_loops(sch, get_block(sch, "C"))[0]);
  EXPECT_EQ(get_loops(sch, get_block(sch, "B")), get_loops(sch, get_block(sch, "C")));
  expect_result(sch, before);

  Schedule part(program(arguments, fmt::format(output_and_its_reader, 6, 6)));
  EXPECT_EQ(
      error_of([&] {
        compute_at(part, get_block(part, "B"), get_loops(part, get_block(part, "C"))[0]);
      }),
      "step_keeps_results: compute_at: results would change: B (vi=6) would not run any more, "
      "and B is used outside");
}

TEST(compute_at, refuses_what_would_change_results) {
  Schedule sch(two_stages());
  const auto c = get_block(sch, "C");
  const auto b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { compute_at(sch, c, get_loops(sch, b)[0]); }),
            "block_is_no_output: compute_at: block C is an output block of its scope");
  EXPECT_EQ(error_of([&] { compute_at(sch, b, get_loops(sch, b)[0]); }),
            "loop_is_not_around: compute_at: block B is inside loop i already");
  EXPECT_EQ(error_of([&] { compute_at(sch, b, get_loops(sch, c)[0], false, 3); }),
            "number_is_in_range: compute_at: index 3 in the body of loop i is not within 0 and 0");

  Schedule two(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
         D: T.Buffer((8,), "float32"))",
                       R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = B[vi]
        A[vi] = T.float32(0)
)"));
  EXPECT_EQ(error_of([&] {
              compute_at(two, get_block(two, "B"), get_loops(two, get_block(two, "C"))[0]);
            }),
            "consumers_are_in_the_loop: compute_at: Not all required blocks are under the loop "
            "scope: D reads what block B writes, outside of loop i");

  Schedule scan(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[0] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[0]
)"));
  EXPECT_EQ(error_of([&] {
              compute_at(scan, get_block(scan, "B"), get_loops(scan, get_block(scan, "C"))[0]);
            }),
            "step_keeps_results: compute_at: results would change: B (vi=6) writes B before "
            "B (vi=7) writes it, and would come after that");

  Schedule overwritten(program(R"(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"))", R"(
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi]
        A[7 - vi] = T.float32(0)
)"));
  EXPECT_EQ(error_of([&] {
              compute_at(overwritten, get_block(overwritten, "B"),
                         get_loops(overwritten, get_block(overwritten, "C"))[0]);
            }),
            "step_keeps_results: compute_at: results would change: B (vi=4) reads A before C "
            "(i=3) writes it, and would come after that");
}

TEST(compute_at, refuses_to_take_a_block_from_a_loop_that_it_uses) {
  Schedule sch(two_stages(8, 6));
  loop_partition(sch, get_loops(sch, get_block(sch, "B"))[1], {2, infer});
  const auto common = get_block(sch, "B_j_common");
  const auto target = get_loops(sch, get_block(sch, "C"))[0];
  EXPECT_EQ(error_of([&] { compute_at(sch, common, target); }),
            "block_uses_axes_alone: compute_at: block B_j_common uses loop i itself, not through "
            "an axis");
}

TEST(compute_at, refuses_conditions_that_change_before_they_are_read) {
  Schedule sch(program(R"(A: T.Buffer((2,), "int32"))", R"(
D = T.alloc_buffer((3, 2), "int32")
for i, j in T.grid(A[1] % 2, 3):
    with T.block("D"):
        vi = T.axis.spatial(2, i)
        vj = T.axis.spatial(3, j)
        D[vj, vi] = 1
    for k in range(1):
        with T.block("A"):
            vi = T.axis.spatial(2, i)
            vj = T.axis.spatial(3, j)
            A[vj % 2] = 1 + D[vj, vi]
)"));
  EXPECT_EQ(error_of([&] { compute_at(sch, get_block(sch, "D"), get_loop(sch, "k")); }),
            "step_keeps_results: compute_at: results may change: the block around `with "
            "T.block(\"D\")` is not what it was");
}

TEST(compute_at, runs_over_all_of_an_axis_whose_consumers_wrap_around) {
  const auto func = program(R"(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"))", R"(
t = T.alloc_buffer((64,), "float32")
for i in range(64):
    with T.block("t"):
        v = T.axis.spatial(64, i)
        t[v] = A[v] * T.float32(2)
for i in range(64):
    with T.block("B"):
        v = T.axis.spatial(64, i)
        B[v] = t[(v + 63) % 64] + t[(v + 1) % 64]
)");
  Schedule sch(func);
  const LoopRV tile = split(sch, get_loops(sch, get_block(sch, "B"))[0], {infer, 8})[0];
  compute_at(sch, get_block(sch, "t"), tile);
  const LoopRV inner = get_loops(sch, get_block(sch, "t"))[1];
  EXPECT_TRUE(is_const_int(sch.get(inner).extent, 64));
  EXPECT_TRUE(is_const_int(sch.realize(get_block(sch, "t")).predicate, 1));
  expect_result(sch, func);
}

}  // namespace
}  // namespace loopsmith
