// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/merge.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(merge, puts_nests_of_one_shape_together) {
  const auto func = two_stages();
  Schedule sch(func);
  const auto first = get_loops(sch, get_block(sch, "B"));
  const auto second = get_loops(sch, get_block(sch, "C"));
  const LoopRV merged = merge(sch, {first[0], second[0]});
  EXPECT_EQ(sch.name(merged), "i_m");
  EXPECT_EQ(body_of(sch), R"(    B = T.alloc_buffer((96, 64))
    for i_m in range(96):
        for j in range(64):
            with T.block("B"):
                v_i, v_j = T.axis.remap("SS", [i_m, j])
                T.reads(A[v_i, v_j])
                T.writes(B[v_i, v_j])
                B[v_i, v_j] = A[v_i, v_j] + T.float32(1)
        for j in range(64):
            with T.block("C"):
                v_i, v_j = T.axis.remap("SS", [i_m, j])
                T.reads(B[v_i, v_j])
                T.writes(C[v_i, v_j])
                C[v_i, v_j] = B[v_i, v_j] * T.float32(2)
)");
  const LoopRV inner = merge(sch, {first[1], second[1]});
  EXPECT_EQ(sch.name(inner), "j_m");
  interp::assert_same(func, sch.func());
  expect_replays(sch, func);
}

TEST(merge, refuses_nests_that_do_not_fit) {
  Schedule sch(two_stages());
  const auto first = get_loops(sch, get_block(sch, "B"));
  const auto second = get_loops(sch, get_block(sch, "C"));
  EXPECT_EQ(error_of([&] { merge(sch, {first[0]}); }),
            "arguments_fit: merge: 1 loops are given, 2 or more are needed");
  EXPECT_EQ(
      error_of([&] { merge(sch, {second[0], first[0]}); }),
      "statements_follow_each_other: merge: the nest of loop i does not follow that of loop i");
  EXPECT_EQ(error_of([&] { merge(sch, {first[0], second[1]}); }),
            "nests_are_alike: merge: the nests of loops i and j differ in depth or extent");
}

TEST(merge, refuses_bounds_that_another_nest_changes) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32")):
    for i in range(A[0]):
        A[i % 8] = i
    for j in range(A[0]):
        C[j] = 1
    for k in range(A[0]):
        B[k] = 1)"));
  const LoopRV i = get_loop(sch, "i"), j = get_loop(sch, "j"), k = get_loop(sch, "k");
  EXPECT_EQ(error_of([&] { merge(sch, {i, j}); }),
            "step_keeps_results: merge: results may change: the bounds of loop i read what the "
            "body of loop i writes");
  merge(sch, {j, k});
}

TEST(merge, shows_what_a_later_iteration_makes) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(9):
        A[i] = T.float32(1)
    for j in range(9):
        B[j] = A[j + 1])"));
  EXPECT_EQ(error_of([&] { merge(sch, {get_loop(sch, "i"), get_loop(sch, "j")}); }),
            "step_keeps_results: merge: results would change: loop j needs what a later iteration "
            "of loop i makes: "
            "iteration i=1 writes A[1], iteration j=0 reads it");
}

TEST(merge, refuses_iterations_that_end_early) {
  Schedule sch(parse_function(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = T.float32(1)
        continue
    for j in range(8):
        B[j] = T.float32(2))"));
  EXPECT_EQ(
      error_of([&] { merge(sch, {get_loop(sch, "i"), get_loop(sch, "j")}); }),
      "iterations_reach_their_end: merge: a continue ends loop i, or an iteration of it, early");
}

}  // namespace
}  // namespace loopsmith
