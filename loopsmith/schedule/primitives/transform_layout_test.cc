// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/transform_layout.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;
using Side = BufferSelector::Side;

/// i, j -> i // n, j // m, i % n, j % m
Ptr<IndexMap> tiles(int n, int m, DataType type = i32) {
  const auto i = var("i", type), j = var("j", type);
  return make(
      IndexMap{.initial_indices = {i, j},
               .final_indices = {floordiv(i, n), floordiv(j, m), floormod(i, n), floormod(j, m)}});
}

/// i -> i // n, i % n
Ptr<IndexMap> halves(int n) {
  const auto i = var("i");
  return make(IndexMap{.initial_indices = {i}, .final_indices = {floordiv(i, n), floormod(i, n)}});
}

bool has(const Schedule& sch, std::string_view text) {
  return body_of(sch).find(text) != std::string::npos;
}

TEST(transform_layout, rewrites_every_access) {
  const auto func = two_stages(96, 64);
  Schedule sch(func);
  // A map over int64 is one over the buffer's indices.
  transform_layout(sch, get_block(sch, "B"), 0, tiles(16, 16, i64));
  EXPECT_TRUE(has(sch, "B = T.alloc_buffer((6, 4, 16, 16))")) << body_of(sch);
  EXPECT_TRUE(has(sch, "B[v_i // 16, v_j // 16, v_i % 16, v_j % 16] = A[v_i, v_j] + T.float32(1)"))
      << body_of(sch);
  EXPECT_TRUE(has(sch, "T.reads(B[v_i // 16, v_j // 16, v_i % 16, v_j % 16])")) << body_of(sch);
  expect_sound(sch, func);
}

TEST(transform_layout, turns_dimensions_round) {
  const auto func = two_stages(8, 4);
  const auto i = var("i"), j = var("j");
  for (const auto& indices : {std::vector<Expr>{7 - i, j},
                              {j, 7 - i},
                              {31 - (i * 4 + j)},
                              {floordiv(7 - i, 2), 3 - j, floormod(7 - i, 2)}}) {
    Schedule sch(func);
    transform_layout(sch, get_block(sch, "B"), 0,
                     make(IndexMap{.initial_indices = {i, j}, .final_indices = indices}));
    expect_sound(sch, func);
  }
}

TEST(transform_layout, refuses_indices_below_0) {
  const auto i = var("i"), j = var("j");
  for (const auto& indices : {std::vector<Expr>{i - 1, j}, {6 - i, j}}) {
    Schedule sch(two_stages(8, 4));
    const auto map = make(IndexMap{.initial_indices = {i, j}, .final_indices = indices});
    EXPECT_EQ(error_of([&] { transform_layout(sch, get_block(sch, "B"), 0, map); }),
              "index_map_is_injective: transform_layout: the index map may take two elements of "
              "buffer B to one: index "
              "map: index 0 of the image begins at -1, which may be below 0");
    EXPECT_NE(error_of([&] { reindex_cache_read(sch, get_block(sch, "B"), 0, "global", map); }),
              "");
  }
}

TEST(transform_layout, puts_digits_together) {
  const auto func = two_stages(32, 8);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  transform_layout(sch, b, 0, tiles(8, 4));
  const auto a = var("a"), c = var("c"), d = var("d"), e = var("e");
  const auto back =
      make(IndexMap{.initial_indices = {a, c, d, e}, .final_indices = {a * 8 + d, c * 4 + e}});
  transform_layout(sch, b, 0, back);
  EXPECT_TRUE(has(sch, "B[v_i, v_j] = A[v_i, v_j] + T.float32(1)")) << body_of(sch);
  expect_sound(sch, func);
}

TEST(transform_layout, reaches_blocks_inside_of_an_init) {
  const auto func =
      program(R"(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 6), "float32"))", R"(
B = T.alloc_buffer((8, 6))
for i, j, k in T.grid(8, 6, 12):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = T.float32(0)
        B[vi, vj] = B[vi, vj] + A[vi, vk]
for i, j in T.grid(8, 6):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
)");
  Schedule sch(func);
  blockize(sch, get_loops(sch, get_block(sch, "B"))[1]);
  const auto i = var("i"), j = var("j");
  transform_layout(sch, get_block(sch, "B"), 0,
                   make(IndexMap{.initial_indices = {i, j}, .final_indices = {j, i}}));
  expect_sound(sch, func);
}

TEST(transform_layout, changes_the_shape_of_a_parameter) {
  Schedule sch(two_stages(96, 64));
  transform_layout(sch, get_block(sch, "B"), BufferSelector(0, Side::read), tiles(16, 16));
  EXPECT_EQ(sch.func()->buffer_map[0]->shape.size(), 4u);
  EXPECT_TRUE(has(sch, "A[v_i // 16, v_j // 16, v_i % 16, v_j % 16] + T.float32(1)"));
}

constexpr std::string_view padded = R"((A: T.Buffer((14,)), C: T.Buffer((14,))):
    B = T.alloc_buffer((14,))
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(14):
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
)";

TEST(transform_layout, lets_a_row_major_producer_write_the_padding) {
  const auto func = program(padded);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  transform_layout(sch, b, 0, halves(4), Annotation(0));
  EXPECT_TRUE(has(sch, "for axis0, axis1 in T.grid(4, 4):")) << body_of(sch);
  EXPECT_TRUE(has(sch,
                  "B[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 3 and 1 < v_axis1, "
                  "T.float32(0), A[v_axis0 * 4 + v_axis1] + T.float32(1))"))
      << body_of(sch);
  EXPECT_EQ(get_block(sch, "B"), b);
  expect_sound(sch, func);
}

TEST(transform_layout, fills_the_padding_after_other_producers) {
  const auto func = program(padded);
  Schedule sch(func);
  split(sch, get_loops(sch, get_block(sch, "B"))[0], {infer, 5});
  transform_layout(sch, get_block(sch, "B"), 0, halves(4), Annotation(0));
  EXPECT_TRUE(has(sch, "with T.block(\"buffer_B_padding\"):")) << body_of(sch);
  EXPECT_TRUE(has(sch, "T.where(axis0 == 3 and 1 < axis1)")) << body_of(sch);
  expect_sound(sch, func);
}

TEST(transform_layout, pads_an_input_that_the_block_around_declares) {
  const auto func = program(R"(A: T.Buffer((16, 8)), Y: T.Buffer((16, 8)))", R"(
with T.block("root"):
    S = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = S[vi, vj] + T.float32(2)
)");
  Schedule sch(func);
  transform_layout(sch, get_block(sch, "S"), BufferSelector(0, Side::read), tiles(5, 8),
                   Annotation(0));
  EXPECT_TRUE(has(sch, "with T.block(\"buffer_A_assumptions\"):")) << body_of(sch);
}

TEST(transform_layout, assumes_the_padding_of_an_input) {
  Schedule sch(program(padded));
  transform_layout(sch, get_block(sch, "B"), BufferSelector(0, Side::read), halves(4),
                   Annotation(0));
  EXPECT_TRUE(has(sch, "with T.block(\"buffer_A_assumptions\"):")) << body_of(sch);
  EXPECT_TRUE(has(sch, "T.assume(")) << body_of(sch);
}

TEST(transform_layout, pads_what_a_plain_statement_writes) {
  const auto func = program(R"((A: T.Buffer((14,)), C: T.Buffer((14,))):
    B = T.alloc_buffer((14,))
    for i in range(14):
        B[i] = A[i] + T.float32(1)
    for i in range(14):
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
)");
  Schedule sch(func);
  transform_layout(sch, get_block(sch, "C"), BufferSelector(0, Side::read), halves(4),
                   Annotation(0));
  EXPECT_FALSE(has(sch, "T.assume(")) << body_of(sch);
  EXPECT_TRUE(has(sch, "with T.block(\"buffer_B_padding\"):")) << body_of(sch);
  expect_sound(sch, func);
}

TEST(transform_layout, refuses_maps_that_lose_elements) {
  Schedule sch(program(padded));
  const BlockRV b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { transform_layout(sch, b, 0, tiles(4, 4)); }),
            "arguments_fit: transform_layout: the index map takes 2 indices, buffer B "
            "has 1 dimensions");
  EXPECT_EQ(error_of([&] { transform_layout(sch, b, 0, halves(4)); }),
            "padding_has_a_value: transform_layout: the index map pads buffer B to shape (4, 4), "
            "wherever axis0 == 3 and 1 < axis1");
  const auto i = var("i");
  const auto folds = make(IndexMap{.initial_indices = {i}, .final_indices = {floordiv(i, 2)}});
  EXPECT_TRUE(
      error_of([&] { transform_layout(sch, b, 0, folds); })
          .starts_with("index_map_is_injective: transform_layout: the index map may take two "
                       "elements of buffer B to one: "));
  EXPECT_EQ(error_of([&] { transform_layout(sch, b, 0, halves(4), Annotation("x")); }),
            "argument_has_type: transform_layout: pad_value gives \"x\", buffer B holds float32");
}

}  // namespace
}  // namespace loopsmith
