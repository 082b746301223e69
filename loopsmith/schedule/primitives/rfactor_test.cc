// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/rfactor.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(rfactor, starts_with_what_the_first_iteration_does) {
  const auto before = program(
      "A: T.Buffer((4, 8), 'int64'), C: T.Buffer((8,), 'int64'), "
      "D: T.Buffer((4,), 'int64')",
      R"(
for i, k in T.grid(4, 8):
    with T.block("D"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            D[vi] = C[vk]
        D[vi] = T.max(D[vi], A[vi, vk])
)");
  Schedule sch(before);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "D"))[1], {infer, 4});
  rfactor(sch, parts[0], 0);
  expect_result(sch, before);
}

TEST(rfactor, gives_each_iteration_partial_results) {
  const auto before = matmul(5, 4, 48);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto k = split(sch, get_loops(sch, c)[2], {6, 8});
  const auto partial = rfactor(sch, k[1], 0);
  EXPECT_EQ(sch.name(partial), "C_rf");
  EXPECT_EQ(sch.name(c), "C");
  EXPECT_EQ(get_loops(sch, c)[2], k[1]);
  expect_result(sch, before,
                program(R"(A: T.Buffer((5, 48), "float32"), B: T.Buffer((48, 4), "float32"),
         C: T.Buffer((5, 4), "float32"))",
                        R"(
C_rf = T.alloc_buffer((8, 5, 4))
for i, j, k_0, k_1 in T.grid(5, 4, 6, 8):
    with T.block("C_rf"):
        vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
        with T.init():
            C_rf[vk_1, vi, vj] = T.float32(0)
        C_rf[vk_1, vi, vj] = C_rf[vk_1, vi, vj] + A[vi, vk_0 * 8 + vk_1] * B[vk_0 * 8 + vk_1, vj]
for i, j, k_1 in T.grid(5, 4, 8):
    with T.block("C"):
        vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + C_rf[vk_1, vi, vj]
)"));
}

TEST(rfactor, puts_the_dimension_where_it_is_asked_for) {
  for (const int axis : {0, 1, 2, -1, -3}) {
    const auto before = matmul(5, 4, 6);
    Schedule sch(before);
    const auto c = get_block(sch, "C");
    const auto partial = rfactor(sch, get_loops(sch, c)[2], axis);
    const auto& shape = sch.get(partial).writes[0]->buffer->shape;
    const auto place = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    EXPECT_TRUE(is_const_int(shape[place], 6));
    expect_result(sch, before);
  }
}

TEST(rfactor, keeps_guards_and_initial_values) {
  const auto before =
      program(R"(A: T.Buffer((4, 22), "float32"), C: T.Buffer((4,), "float32"))", R"(
for i, k in T.grid(4, 22):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(3)
        C[vi] = A[vi, vk] + C[vi]
)");
  for (const int part : {0, 1}) {
    Schedule sch(before);
    const auto c = get_block(sch, "C");
    const auto k = split(sch, get_loops(sch, c)[1], {infer, 5});
    const auto partial = rfactor(sch, k[static_cast<std::size_t>(part)], 0);
    expect_result(sch, before);
    decompose_reduction(sch, partial, get_loops(sch, partial)[2 - part]);
    expect_result(sch, before);
  }
}

TEST(rfactor, knows_reducers_of_one_and_of_two_values) {
  for (const auto& [init, update] :
       {std::pair("T.float32(1)", "C[vi] * A[vi, vk]"),
        std::pair("T.min_value(\"float32\")", "T.max(A[vi, vk], C[vi])"),
        std::pair("A[vi, 0]", "T.min(C[vi], A[vi, vk])")}) {
    const auto before = program(R"(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4,), "float32"))",
                                fmt::format(R"(
for i, k in T.grid(4, 12):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = {}
        C[vi] = {}
)",
                                            init, update));
    Schedule sch(before);
    const auto parts = split(sch, get_loops(sch, get_block(sch, "C"))[1], {infer, 4});
    rfactor(sch, parts[0], 1);
    expect_result(sch, before);
  }
  const auto before = program(R"(A: T.Buffer((4, 12), "float32"), I: T.Buffer((4,), "int32"),
         V: T.Buffer((4,), "float32"))",
                              R"(
for i, k in T.grid(4, 12):
    with T.block("V"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            I[vi] = T.int32(2147483647)
            V[vi] = T.min_value("float32")
        x: T.int32 = T.Select(V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk, I[vi], vk)
        y: T.float32 = T.Select(V[vi] > A[vi, vk], V[vi], A[vi, vk])
        I[vi] = x
        V[vi] = y
)");
  Schedule sch(before);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "V"))[1], {infer, 4});
  const auto partial = rfactor(sch, parts[1], 0);
  EXPECT_EQ(sch.get(partial).writes.size(), 2u);
  expect_result(sch, before);
}

TEST(rfactor, leaves_others_in_the_nest_alone) {
  const auto before = program(R"(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4,), "float32"),
         D: T.Buffer((4,), "float32"))",
                              R"(
for i in range(4):
    for k in range(12):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    with T.block("D"):
        vi = T.axis.spatial(4, i)
        D[vi] = C[vi] * T.float32(2)
)");
  Schedule sch(before);
  rfactor(sch, get_loops(sch, get_block(sch, "C"))[1], 0);
  expect_result(sch, before);
}

TEST(rfactor, refuses_what_is_no_loop_of_a_known_reduction) {
  Schedule sch(matmul(5, 4, 6));
  const auto loops = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { rfactor(sch, loops[0], 0); }),
            "loop_is_of_reduction: rfactor: loop i is bound to no reduction axis of block C alone");
  EXPECT_EQ(error_of([&] { rfactor(sch, loops[2], 3); }),
            "number_is_in_range: rfactor: factor_axis is 3, not within -3 and 2");
  unroll(sch, loops[2]);
  EXPECT_EQ(error_of([&] { rfactor(sch, loops[2], 0); }),
            "loop_is_serial: rfactor: loop k is unrolled, not serial");
  Schedule two(two_stages());
  EXPECT_EQ(error_of([&] { rfactor(two, get_loops(two, get_block(two, "C"))[0], 0); }),
            "block_is_reduction: rfactor: block C is not a reduction block - it violates condition "
            "#1");
  Schedule other(program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"))", R"(
for i, k in T.grid(4, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = T.exp(C[vi] + A[vi, vk])
)"));
  EXPECT_EQ(error_of([&] { rfactor(other, get_loops(other, get_block(other, "C"))[1], 0); }),
            "reducer_is_known: rfactor: how block C combines its elements is no known reducer");
  // Each result is of one iteration.
  Schedule each(program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32"))", R"(
for i, k in T.grid(4, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi, vk] = T.float32(0)
        C[vi, vk] = C[vi, vk] + A[vi, vk]
)"));
  EXPECT_EQ(error_of([&] { rfactor(each, get_loops(each, get_block(each, "C"))[1], 0); }),
            "loop_is_of_reduction: rfactor: loop k is bound to no reduction axis of block C alone");
  Schedule before(program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"),
         D: T.Buffer((2,), "float32"))",
                          R"(
for ko in range(2):
    with T.block("D"):
        vk = T.axis.spatial(2, ko)
        D[vk] = A[0, vk]
    for i, ki in T.grid(4, 4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, ko * 4 + ki)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)"));
  EXPECT_EQ(
      error_of([&] { rfactor(before, get_loops(before, get_block(before, "C"))[2], 0); }),
      "nest_is_plain: rfactor: partial results of block C cannot be computed before loop ko, as "
      "something stands before it");
  Schedule late(program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"))", R"(
for i in range(4):
    for k in range(2, 8):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(8, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)"));
  EXPECT_EQ(error_of([&] { rfactor(late, get_loop(late, "k"), 0); }),
            "nest_is_plain: rfactor: partial results of block C cannot be computed before loop i, "
            "as its reduction does not start at the first iteration");
}

TEST(rfactor, stays_in_loops_with_what_stands_before) {
  const auto func = program(R"(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32"))", R"(
B = T.alloc_buffer((4, 8))
for i, k in T.grid(4, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        B[vi, vk] = A[vi, vk] * A[vi, vk]
for i, k in T.grid(4, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + B[vi, 7 - vk]
)");
  Schedule sch(func);
  const auto [i, k] = get_loops(sch, get_block(sch, "C")).take<2>();
  compute_at(sch, get_block(sch, "B"), i);
  const auto parts = split(sch, k, {infer, 4});
  const BlockRV partial = rfactor(sch, parts[1], 0);
  EXPECT_EQ(get_loops(sch, partial)[0], i);
  EXPECT_EQ(get_loops(sch, get_block(sch, "C"))[0], i);
  EXPECT_EQ(get_loops(sch, get_block(sch, "B"))[0], i);
  expect_result(sch, func);
}

/// Each run of i starts the sum again.
TEST(rfactor, refuses_a_loop_that_repeats_the_reduction) {
  Schedule sch(program(R"(A: T.Buffer((4,), "int32"), C: T.Buffer((1,), "int32"))", R"(
for i, k in T.grid(2, 4):
    with T.block("C"):
        vk = T.axis.reduce(4, k)
        with T.init():
            C[0] = 0
        C[0] = C[0] + A[vk]
)"));
  const LoopRV fused = fuse(sch, {get_loop(sch, "i"), get_loop(sch, "k")});
  EXPECT_EQ(error_of([&] { rfactor(sch, fused, 0); }),
            "nest_is_plain: rfactor: partial results of block C cannot be computed before loop "
            "i_k_fused, as loop i_k_fused may run an instance more than once");
}

/// What is split has nothing, so that the parts have no domain that is empty; nor do they run.
TEST(rfactor, refuses_parts_that_would_not_start) {
  Schedule sch(program(R"(B: T.Buffer((1,), "float32"))", R"(
for i, k in T.grid(0, 0):
    with T.block("B"):
        vi = T.axis.reduce(1, i)
        vk = T.axis.reduce(0, k)
        B[0] = B[0] + T.float32(1)
)"));
  const auto parts = split(sch, get_loop(sch, "k"), {1, 1});
  EXPECT_EQ(error_of([&] { rfactor(sch, parts[0], 0); }),
            "nest_is_plain: rfactor: partial results of block B cannot be computed before loop i, "
            "as a loop may be empty where there is something to reduce");
}

}  // namespace
}  // namespace loopsmith
