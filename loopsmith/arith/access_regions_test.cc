// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/access_regions.h"

#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/infer_regions.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

struct Program {
  Ptr<Var> n = size_var("n");
  Ptr<Var> i = var("i");
  Ptr<Var> j = var("j");
  Ptr<Buffer> A = decl_buffer({n, 64}, f32, "A");
  Ptr<Buffer> B = decl_buffer({n}, f32, "B");

  Block block(Stmt body) const {
    const auto axis = make(IterVar{.dom = range(0, n), .var = i});
    return Block{.iter_vars = {axis}, .name_hint = "block", .body = std::move(body)};
  }
};

/// The range is [min, min + extent), whatever the variables are.
void expect_range(const Ptr<Range>& range, const Expr& min, const Expr& extent) {
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.can_prove_equal(range->min, min));
  EXPECT_TRUE(analyzer.can_prove_equal(range->extent, extent));
}

TEST(access_regions, are_points_for_the_axes_of_the_block) {
  const Program p;
  const auto regions = access_regions(p.block(store(p.B, load(p.A, {p.i, 3}), {p.i})));
  ASSERT_EQ(regions.reads.size(), 1u);
  EXPECT_TRUE(regions.reads[0]->buffer.same_as(p.A));
  expect_range(regions.reads[0]->region[0], p.i, 1);
  expect_range(regions.reads[0]->region[1], 3, 1);
  ASSERT_EQ(regions.writes.size(), 1u);
  expect_range(regions.writes[0]->region[0], p.i, 1);
}

TEST(access_regions, cover_the_loops_inside) {
  const Program p;
  const Stmt inner = store(p.B, load(p.A, {p.i, Expr(p.j) * 2 + 1}), {p.i});
  const auto regions = access_regions(p.block(for_loop(p.j, 4, 8, inner)));
  expect_range(regions.reads[0]->region[1], 9, 15);  // j in [4, 12): 9, 11, ..., 23
}

TEST(access_regions, cover_a_loop_that_counts_down) {
  const Program p;
  const Stmt inner = store(p.B, load(p.A, {p.i, p.j}), {p.i});
  const auto loop = make(For{.loop_var = p.j, .min = 20, .extent = 5, .step = -4, .body = inner});
  const auto regions = access_regions(p.block(loop));
  expect_range(regions.reads[0]->region[1], 4, 17);
}

TEST(access_regions, join_the_reads_of_one_buffer) {
  const Program p;
  const Expr left = load(p.B, {Expr(p.i) - 1});
  const Expr right = load(p.B, {Expr(p.i) + 1});
  const auto C = decl_buffer({p.n}, f32, "C");
  const auto regions = access_regions(p.block(store(C, left + load(p.B, {p.i}) + right, {p.i})));
  ASSERT_EQ(regions.reads.size(), 1u);
  Analyzer analyzer;
  analyzer.bind(p.i, range(1, Expr(p.n) - 2));
  const auto& range = regions.reads[0]->region[0];
  EXPECT_TRUE(analyzer.can_prove_equal(range->min, Expr(p.i) - 1));
  EXPECT_TRUE(analyzer.can_prove_equal(range->extent, 3));
}

TEST(access_regions, narrow_by_the_conditions_around_an_access) {
  const Program p;
  const Stmt inner = make(IfThenElse{.condition = Expr(p.j) >= 8 && Expr(p.j) < 10,
                                     .then_case = store(p.B, load(p.A, {p.i, p.j}), {p.i})});
  const auto regions = access_regions(p.block(for_loop(p.j, 0, 64, inner)));
  expect_range(regions.reads[0]->region[1], 8, 2);
}

TEST(access_regions, are_whole_dimensions_where_nothing_is_known) {
  const Program p;
  const Expr scattered = floormod(Expr(p.j) * Expr(p.j), 64);
  const auto regions = access_regions(
      p.block(for_loop(p.j, 0, 8, store(p.B, load(p.A, {p.i, scattered * p.j}), {p.i}))));
  expect_range(regions.reads[0]->region[1], 0, 64);
}

TEST(access_regions, leave_out_what_a_reduction_accumulates) {
  const Program p;
  Block block = p.block(store(p.B, load(p.B, {p.i}) + load(p.A, {p.i, p.j}), {p.i}));
  EXPECT_EQ(access_regions(block).reads.size(), 2u);
  block.init = store(p.B, float_imm(f32, 0), {p.i});
  const auto regions = access_regions(block);
  ASSERT_EQ(regions.reads.size(), 1u);
  EXPECT_TRUE(regions.reads[0]->buffer.same_as(p.A));
}

TEST(access_regions, take_what_blocks_inside_declare) {
  const Program p;
  const auto v = var("v");
  const auto inner = make(Block{.iter_vars = {make(IterVar{.dom = range(0, 16), .var = v})},
                                .reads = {point_region(p.A, {p.i, v})},
                                .writes = {point_region(p.B, {p.i})},
                                .name_hint = "inner",
                                .body = no_op()});
  const Stmt realize = make(BlockRealize{.iter_values = {Expr(p.j) + 2}, .block = inner});
  const auto regions = access_regions(p.block(for_loop(p.j, 0, 4, realize)));
  expect_range(regions.reads[0]->region[1], 2, 4);
  EXPECT_EQ(regions.writes.size(), 1u);
}

TEST(access_regions, see_a_view_as_its_source) {
  const Program p;
  const auto view = decl_buffer({4}, f32, "view");
  Block block = p.block(store(p.B, load(view, {0}), {p.i}));
  const auto source = make(BufferRegion{.buffer = p.A, .region = {range(p.i, 1), range(8, 4)}});
  block.match_buffers = {make(MatchBufferRegion{.source = source, .buffer = view})};
  const auto regions = access_regions(block);
  ASSERT_EQ(regions.reads.size(), 1u);
  EXPECT_TRUE(regions.reads[0]->buffer.same_as(p.A));
  expect_range(regions.reads[0]->region[1], 8, 4);
}

Ptr<PrimFunc> function_with(const Program& p, Stmt body) {
  const auto block = detect_regions(make(p.block(std::move(body))));
  return make(PrimFunc{.params = {var("a", handle_type), var("b", handle_type)},
                       .buffer_map = {p.A, p.B},
                       .body = make(BlockRealize{.iter_values = {0}, .block = block})});
}

TEST(infer_regions, fills_in_what_is_asked_for) {
  const Program p;
  const auto func = infer_regions(function_with(p, store(p.B, load(p.A, {p.i, 0}), {p.i})));
  const auto& block = func->body.as<BlockRealize>()->block;
  EXPECT_EQ(block->reads.size(), 1u);
  EXPECT_EQ(block->writes.size(), 1u);
  EXPECT_TRUE(block->annotations.empty());
  EXPECT_TRUE(infer_regions(func).same_as(func));
}

TEST(infer_regions, reads_the_mask_of_an_access_pointer) {
  const Program p;
  const Expr pointer =
      call(handle_type, op("tvm_access_ptr"), {float_imm(f32, 0), p.A->data, 0, 64, 1});
  const Stmt body =
      make(Evaluate{.value = call(i32, op("call_extern"), {string_imm("f"), pointer})});
  const auto block = infer_regions(function_with(p, body))->body.as<BlockRealize>()->block;
  ASSERT_EQ(block->reads.size(), 1u);
  expect_range(block->reads[0]->region[0], 0, p.n);
  EXPECT_TRUE(block->writes.empty());
}

TEST(infer_regions, refuses_a_bare_pointer) {
  const Program p;
  const Stmt body =
      make(Evaluate{.value = call(i32, op("call_extern"), {string_imm("f"), p.A->data})});
  try {
    infer_regions(function_with(p, body));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), "regions_can_be_found");
    EXPECT_EQ(error.problem(), "block block: it reaches buffer A through its pointer");
    EXPECT_EQ(error.hint(), "write down what the block reads and writes");
  }
}

TEST(access_regions, say_what_variables_of_any_type_stand_for) {
  const Program p;
  const auto scaled = var("scaled", f32), whole = var("whole");
  const Stmt inner = store(p.B, load(p.A, {p.i, whole}), {p.i});
  const Stmt named =
      make(LetStmt{.value = min(cast(i32, scaled), 30), .var = whole, .body = inner});
  const Expr half = cast(f32, p.i) * float_imm(f32, 0.5);
  const auto regions =
      access_regions(p.block(make(LetStmt{.value = half, .var = scaled, .body = named})));
  expect_range(regions.reads[0]->region[1], min(cast(i32, half), 30), 1);
}

}  // namespace
}  // namespace loopsmith
