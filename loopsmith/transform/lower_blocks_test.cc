// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_blocks.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

TEST(lower_blocks, puts_values_for_axes_and_conditions_for_predicates) {
  const Ptr<Buffer> b = decl_buffer({30}, f32, "B");
  const Ptr<Var> i = var("i"), j = var("j"), v = var("v");
  const Stmt body = block({axis(v, 30)}, {i * 4 + j}, store(b, f(1), {v}), nullptr, i * 4 + j < 30);
  const auto actual = lower_blocks(function({b}, for_loop(i, 0, 8, for_loop(j, 0, 4, body))));
  EXPECT_TRUE(same(
      actual->body,
      for_loop(i, 0, 8, for_loop(j, 0, 4, if_then(i * 4 + j < 30, store(b, f(1), {i * 4 + j}))))));
}

TEST(lower_blocks, puts_values_into_nested_blocks_and_shapes) {
  const Ptr<Buffer> b = decl_buffer({30}, f32, "B");
  const Ptr<Var> i = var("i"), outer = var("vo"), inner = var("vi");
  const Ptr<Buffer> t = decl_buffer({outer + 1}, f32, "T");
  const Stmt body = block({axis(inner, 30)}, {outer * 2}, store(t, f(1), {inner}));
  const Stmt around = make(BlockRealize{
      .iter_values = {i + 3},
      .block = make(Block{.iter_vars = {axis(outer, 8)}, .alloc_buffers = {t}, .body = body})});
  const auto actual = lower_blocks(function({b}, for_loop(i, 0, 8, around)));
  const auto* allocate = actual->body.as<For>()->body.as<Allocate>();
  ASSERT_TRUE(allocate);
  EXPECT_TRUE(same(allocate->extents[0], make(Add{.a = i + 3, .b = 1})));
}

TEST(lower_blocks, turns_pragmas_into_attributes) {
  const Ptr<Buffer> b = decl_buffer({30}, f32, "B");
  const Stmt body = store(b, f(1), {0});
  const auto actual = lower_blocks(function(
      {b}, make(BlockRealize{
               .block = make(Block{
                   .annotations = {{"other", Expr(1)}, {"pragma_auto_unroll_max_step", Expr(7)}},
                   .body = body})})));
  EXPECT_TRUE(
      same(actual->body,
           make(AttrStmt{.attr_key = "pragma_auto_unroll_max_step", .value = 7, .body = body})));
}

TEST(lower_blocks, refuses_alignments_of_another_form) {
  const Ptr<Buffer> b = decl_buffer({30}, f32, "B");
  const auto error_of_row = [&](std::vector<Ref> row) {
    const auto rows = make(List{.items = {make(List{.items = std::move(row)})}});
    const auto func = function(
        {b}, make(BlockRealize{.block = make(Block{.writes = {whole_region(b)},
                                                   .name_hint = "copy",
                                                   .annotations = {{"buffer_dim_align", rows}},
                                                   .body = store(b, f(1), {0})})}));
    return error_of([&] { lower_blocks(func); });
  };
  const auto row = [](int buffer, int dimension, int factor, int offset) {
    return std::vector<Ref>{Expr(buffer), Expr(dimension), Expr(factor), Expr(offset)};
  };
  EXPECT_EQ(error_of_row(row(0, 0, 8, -1)), "");
  for (const auto& wrong : {row(1, 0, 8, 1), row(0, 1, 8, 1), row(0, 0, 0, 1), row(0, -1, 8, 1),
                            std::vector<Ref>{Expr(0), Expr(1)}}) {
    EXPECT_EQ(error_of_row(wrong),
              "lower_blocks: buffer_dim_align of block copy is no list of such rows\n"
              "  hint: give rows [index among the writes, dimension, factor above 0, offset]");
  }
}

}  // namespace
}  // namespace loopsmith
