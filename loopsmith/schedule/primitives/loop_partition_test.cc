// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_partition.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(loop_partition, makes_blocks_of_the_parts) {
  const auto func = program(R"((A: T.Buffer((96, 4)), C: T.Buffer((96, 4))):
    for i, j in T.grid(96, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
)");
  Schedule sch(func);
  const auto parts = loop_partition(sch, get_loops(sch, get_block(sch, "C"))[0], {20, infer});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(sch.name(parts[0]), "i0");
  EXPECT_EQ(sch.name(parts[1]), "i1");
  const std::string text = body_of(sch);
  EXPECT_NE(text.find(R"(        with T.block("C_i_common"):
            T.reads(A[0:96, 0:4])
            T.writes(C[0:96, 0:4])
            with T.block("C_i0_partition"):
                T.reads(A[0:20, 0:4])
                T.writes(C[0:20, 0:4])
                for i0, j in T.grid(20, 4):
                    with T.block("C_i0"):
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(            with T.block("C_i1_partition"):
                T.reads(A[20:96, 0:4])
                T.writes(C[20:96, 0:4])
                for i1 in range(20, 96):
                    for j in range(4):
                        with T.block("C_i1"):
)"),
            std::string::npos)
      << text;
  expect_sound(sch, func);
}

TEST(loop_partition, takes_what_is_left_over_as_a_last_part) {
  const auto func = two_stages(10, 4);
  Schedule sch(func);
  const auto parts = loop_partition(sch, get_loops(sch, get_block(sch, "B"))[0], {2, 3});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(is_const_int(sch.get(parts[2]).min, 5));
  EXPECT_TRUE(is_const_int(sch.get(parts[2]).extent, 5));
  const auto inner = loop_partition(sch, get_loops(sch, get_block(sch, "B_i1"))[1], {infer, 1});
  EXPECT_TRUE(is_const_int(sch.get(inner[0]).extent, 3));
  vectorize(sch, get_loops(sch, get_block(sch, "B_i2"))[1]);
  expect_sound(sch, func);
}

TEST(loop_partition, starts_a_reduction_once) {
  const auto func = matmul(4, 3, 8);
  Schedule sch(func);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  loop_partition(sch, loops[2], {2, 5});
  EXPECT_TRUE(sch.get(get_block(sch, "C_k0")).init.defined());
  const Block& later = sch.get(get_block(sch, "C_k1"));
  EXPECT_FALSE(later.init.defined());
  EXPECT_EQ(later.reads[0]->buffer->name, "C");
  const BlockRV common = get_block(sch, "C_k1_partition");
  EXPECT_TRUE(reads_buffer(sch.get(common), later.writes[0]->buffer));
  expect_sound(sch, func);
  Schedule tiled(func);
  const auto parts = split(tiled, get_loops(tiled, get_block(tiled, "C"))[2], {infer, 4});
  loop_partition(tiled, parts[1], {1, infer});
  EXPECT_FALSE(tiled.get(get_block(tiled, "C_k_11")).init.defined());
  expect_sound(tiled, func);
}

TEST(loop_partition, cuts_loops_without_blocks_and_with_steps) {
  const auto func = program(R"((A: T.Buffer((40,))):
    for i in range(3, 33, 3):
        A[i] = A[i - 3] + T.float32(1)
)");
  Schedule sch(func);
  const auto parts = loop_partition(sch, get_loop(sch, "i"), {4, infer, 1});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(is_const_int(sch.get(parts[1]).min, 15));
  EXPECT_TRUE(is_const_int(sch.get(parts[1]).extent, 5));
  EXPECT_EQ(body_of(sch).find("block"), std::string::npos) << body_of(sch);
  expect_sound(sch, func);
}

TEST(loop_partition, keeps_memory_of_parallel_iterations_in_one_loop) {
  Schedule sch(program(R"(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32"))", R"(
B = T.alloc_buffer((10, 8))
for i in range(8):
    for y, x in T.grid(3, 8):
        with T.block("B"):
            vi = T.axis.spatial(10, i + y)
            vj = T.axis.spatial(8, x)
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for x in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, x])
            C[vi, vj] = B[vi, vj] + B[vi + 2, vj]
)"));
  parallel(sch, get_loop(sch, "i"));
  EXPECT_EQ(
      error_of([&] { loop_partition(sch, get_loop(sch, "i"), {2, infer}); }).substr(0, 105),
      "step_keeps_results: loop_partition: results would change: iterations of loop i0, which is "
      "parallel, would");
}

TEST(loop_partition, refuses_parts_that_do_not_fit) {
  Schedule sch(two_stages(10, 4));
  const LoopRV i = get_loops(sch, get_block(sch, "B"))[0];
  const std::size_t steps = sch.steps().size();
  EXPECT_EQ(error_of([&] { loop_partition(sch, i, {11}); }),
            "arguments_fit: loop_partition: the parts have 11 iterations, loop i has 10");
  EXPECT_EQ(error_of([&] { loop_partition(sch, i, {4, 6, infer}); }),
            "arguments_fit: loop_partition: the parts have 10 iterations, loop i has 10");
  EXPECT_EQ(error_of([&] { loop_partition(sch, i, {0, infer}); }),
            "number_is_in_range: loop_partition: factor 0 of loop i is 0, not positive");
  EXPECT_EQ(error_of([&] { loop_partition(sch, i, {infer, infer}); }),
            "arguments_fit: loop_partition: loop i: only one factor can be specified as "
            "-1 or None");
  annotate(sch, i, "k", 1);
  EXPECT_EQ(error_of([&] { loop_partition(sch, i, {4}); }),
            "loop_is_plain: loop_partition: loop i has annotations or is bound to a thread");
  EXPECT_EQ(sch.steps().size(), steps + 1);

  Schedule sized(program(R"((a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    for i in range(n):
        A[i] = T.float32(1)
)"));
  EXPECT_EQ(error_of([&] { loop_partition(sized, get_loop(sized, "i"), {4}); }),
            "bounds_are_known: loop_partition: the bounds of loop i are not constants");

  Schedule left(program(R"((A: T.Buffer((8,))):
    for i in range(8):
        if A[i] > T.float32(1):
            break
)"));
  EXPECT_EQ(error_of([&] { loop_partition(left, get_loop(left, "i"), {4}); }),
            "iterations_reach_their_end: loop_partition: a break ends loop i, or an iteration of "
            "it, early");
}

TEST(loop_partition, binds_axes_to_the_value_of_a_part_of_one) {
  const auto func = two_stages(10, 4);
  Schedule sch(func);
  loop_partition(sch, get_loops(sch, get_block(sch, "C"))[0], {1, infer}, false);
  const std::string text = body_of(sch);
  EXPECT_NE(text.find("v_i = T.axis.spatial(10, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("v_i = T.axis.spatial(10, i1)"), std::string::npos) << text;
  expect_sound(sch, func);
}

TEST(loop_partition, refuses_to_share_what_parallel_iterations_have_each) {
  Schedule sch(program(R"(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9, 8), "float32"))", R"(
S = T.alloc_buffer((9,))
for i in range(9):
    for j in T.parallel(8):
        with T.block("S"):
            vi = T.axis.spatial(9, i)
            S[vi] = A[vi, 0] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * S[vi]
)"));
  // Both parts would use S, which no loop around them has for its own.
  const std::string error = error_of([&] { loop_partition(sch, get_loop(sch, "i"), {1, infer}); });
  EXPECT_TRUE(error.starts_with(
      "step_keeps_results: loop_partition: results would change: iterations of loop j"))
      << error;
}

}  // namespace
}  // namespace loopsmith
