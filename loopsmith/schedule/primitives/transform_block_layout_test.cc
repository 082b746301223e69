// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/transform_block_layout.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(transform_block_layout, joins_axes_and_keeps_the_block) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  const auto i = var("i"), j = var("j");
  const LoopRV old = get_loops(sch, b)[0];
  transform_block_layout(sch, b,
                         make(IndexMap{.initial_indices = {i, j}, .final_indices = {i * 4 + j}}));
  const std::string text = body_of(sch);
  EXPECT_NE(text.find(R"(    for ax0 in range(32):
        with T.block("B"):
            v0 = T.axis.spatial(32, ax0)
            T.reads(A[v0 // 4, v0 % 4])
            T.writes(B[v0 // 4, v0 % 4])
            B[v0 // 4, v0 % 4] = A[v0 // 4, v0 % 4] + T.float32(1)
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(get_loops(sch, b).size(), 1u);
  EXPECT_EQ(error_of([&] { unroll(sch, old); }),
            "handle_is_alive: unroll: loop i was transformed at step 3 into ax0");
  expect_sound(sch, func);
}

TEST(transform_block_layout, takes_axes_that_begin_anywhere) {
  const auto func = two_stages(8, 4);
  const auto i = var("i"), j = var("j");
  for (const auto& indices : {std::vector<Expr>{i + 2, j - 3}, {9 - i, j}, {6 - i, 3 - j}}) {
    Schedule sch(func);
    transform_block_layout(sch, get_block(sch, "B"),
                           make(IndexMap{.initial_indices = {i, j}, .final_indices = indices}));
    expect_sound(sch, func);
  }
}

TEST(transform_block_layout, takes_reductions) {
  const auto func = matmul(4, 6, 8);
  Schedule sch(func);
  const auto i = var("i"), j = var("j"), k = var("k");
  const auto map = make(IndexMap{.initial_indices = {i, j, k},
                                 .final_indices = {j, floordiv(k, 4), i, floormod(k, 4)}});
  transform_block_layout(sch, get_block(sch, "C"), map);
  expect_sound(sch, func);
}

TEST(transform_block_layout, refuses_what_changes_more_than_the_order) {
  Schedule sch(matmul(4, 6, 8));
  const BlockRV c = get_block(sch, "C");
  const auto i = var("i"), j = var("j"), k = var("k");
  const auto mapped = [&](std::vector<Expr> to) {
    return make(IndexMap{.initial_indices = {i, j, k}, .final_indices = std::move(to)});
  };
  const auto few = make(IndexMap{.initial_indices = {i}, .final_indices = {i}});
  EXPECT_EQ(error_of([&] { transform_block_layout(sch, c, few); }),
            "arguments_fit: transform_block_layout: the index map takes 1 indices, "
            "block C has "
            "3 axes");
  EXPECT_EQ(error_of([&] { transform_block_layout(sch, c, mapped({i, j * 8 + k})); }),
            "axis_is_of_one_type: transform_block_layout: new axis 1 of block C contains more than "
            "one type of axis");
  EXPECT_TRUE(error_of([&] { transform_block_layout(sch, c, mapped({floordiv(i, 2), j, k})); })
                  .starts_with("map_is_bijective: transform_block_layout: the index map does not "
                               "take one point to each point of a box: "));
  split(sch, get_loops(sch, get_block(sch, "C"))[0], {infer, 2});
  EXPECT_EQ(
      error_of([&] { transform_block_layout(sch, c, mapped({i, j, k})); }),
      "loops_are_the_axes: transform_block_layout: the loops around block C are not its axes, "
      "in their order, from 0");
}

TEST(transform_block_layout, keeps_memory_as_long_as_axes_say) {
  const auto func = program(R"(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"))", R"(
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        C = T.alloc_buffer((vi + 1,))
        C[vi] = A[vi]
        B[vi] = C[vi]
)");
  Schedule sch(func);
  const auto i = var("i");
  transform_block_layout(
      sch, get_block(sch, "B"),
      make(IndexMap{.initial_indices = {i}, .final_indices = {floordiv(i, 4), floormod(i, 4)}}));
  expect_result(sch, func);
}

}  // namespace
}  // namespace loopsmith
