// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_match_buffer.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// A block with a view of `region` of `source`.
Stmt block_with_view(const Ptr<Buffer>& view, const Ptr<Buffer>& source,
                     std::vector<Ptr<Range>> region, Stmt body) {
  const auto of = make(BufferRegion{.buffer = source, .region = std::move(region)});
  return make(BlockRealize{
      .block = make(Block{.name_hint = "b",
                          .match_buffers = {make(MatchBufferRegion{.source = of, .buffer = view})},
                          .body = std::move(body)})});
}

Stmt plain_block(Stmt body) {
  return make(BlockRealize{.block = make(Block{.name_hint = "b", .body = std::move(body)})});
}

TEST(lower_match_buffer, accesses_the_source) {
  const Ptr<Buffer> a = decl_buffer({16, 16}, f32, "A"), v = decl_buffer({4}, f32, "V");
  const Ptr<Var> i = var("i"), k = var("k");
  const Stmt body = for_loop(k, 0, 4, store(v, load(v, {k}) + f(1), {k}));
  const auto actual = lower_match_buffer(function(
      {a}, for_loop(i, 0, 4, block_with_view(v, a, {range(3, 1), range(i * 4, 4)}, body))));
  const Stmt plus_one = store(a, load(a, {3, i * 4 + k}) + f(1), {3, i * 4 + k});
  EXPECT_TRUE(same(actual->body, for_loop(i, 0, 4, plain_block(for_loop(k, 0, 4, plus_one)))));
}

TEST(lower_match_buffer, gives_symbols_their_values) {
  const Ptr<Buffer> a = decl_buffer({16, 16}, f32, "A");
  const Ptr<Var> n = var("n"), s0 = var("s0"), s1 = var("s1"), offset = var("offset");
  Buffer with_symbols = *decl_buffer({n, 4}, f32, "V");
  with_symbols.strides = {s0, s1};
  with_symbols.elem_offset = offset;
  const Ptr<Buffer> v = make(std::move(with_symbols));
  const Stmt body = store(v, cast(f32, n + s0 * 2 + s1 * 3 + offset), {0, 0});
  const auto actual =
      lower_match_buffer(function({a}, block_with_view(v, a, {range(2, 8), range(4, 4)}, body)));
  const Expr value = make(
      Cast{.value = make(Add{.a = make(Add{.a = make(Add{.a = 8, .b = make(Mul{.a = 16, .b = 2})}),
                                           .b = make(Mul{.a = 1, .b = 3})}),
                             .b = 36})},
      f32);
  EXPECT_TRUE(same(actual->body, plain_block(store(a, value, {2, 4}))));
}

TEST(lower_match_buffer, pointers_lead_to_the_first_element) {
  const Ptr<Buffer> a = decl_buffer({16, 16}, f32, "A"), v = decl_buffer({4}, f32, "V");
  const auto lowered = [&](const Expr& value) {
    const auto actual = lower_match_buffer(function(
        {a}, block_with_view(v, a, {range(3, 1), range(8, 4)}, make(Evaluate{.value = value}))));
    const auto* realize = actual->body.as<BlockRealize>();
    return realize->block->body;
  };
  const auto pointer = [](const Ptr<Buffer>& buffer, const Expr& offset) {
    return call(op("tvm_access_ptr"),
                {call(f32, op("type_annotation"), {}), buffer->data, offset, 4, 1});
  };
  const auto evaluate = [](const Expr& value) { return make(Evaluate{.value = value}); };
  EXPECT_TRUE(same(lowered(pointer(v, 2)), evaluate(pointer(a, Expr(2) + 56))));
  const auto named = [](const Expr& operand) {
    return call(i32, op("call_extern"), {string_imm("f"), operand});
  };
  EXPECT_TRUE(
      same(lowered(named(v->data)), evaluate(named(call(op("address_of"), {load(a, {3, 8})})))));
}

TEST(lower_match_buffer, buffers_on_the_pointer_of_a_view_begin_where_it_does) {
  const Ptr<Buffer> a = decl_buffer({16, 16}, f32, "A"), v = decl_buffer({2, 4}, f32, "V");
  const auto on = [](const Ptr<Buffer>& source, const Expr& offset) {
    Buffer flat{.data = source->data, .dtype = f32, .shape = {4}};
    flat.elem_offset = offset;
    const Ptr<Buffer> made = make(std::move(flat));
    return make(DeclBuffer{.buffer = made, .body = store(made, f(0), {1})});
  };
  const auto actual = lower_match_buffer(
      function({a}, block_with_view(v, a, {range(3, 2), range(8, 4)}, on(v, nullptr))));
  EXPECT_TRUE(same(actual->body, plain_block(on(a, 56))));
}

TEST(lower_match_buffer, refuses_a_view_that_does_not_fit) {
  const Ptr<Buffer> a = decl_buffer({16}, f32, "A"), v = decl_buffer({5}, f32, "V");
  const auto func = function({a}, block_with_view(v, a, {range(0, 4)}, store(v, f(0), {0})));
  EXPECT_EQ(error_of([&] { lower_match_buffer(func); }),
            "lower_match_buffer: the match constraint of buffer V does not hold\n"
            "  hint: match the region that the view describes");
}

TEST(lower_match_buffer, checks_at_run_time_what_cannot_be_proved) {
  const Ptr<Var> n = size_var("n"), m = size_var("m");
  const Ptr<Buffer> a = decl_buffer({n}, f32, "A"), v = decl_buffer({m}, f32, "V");
  const auto actual = lower_match_buffer(
      function({a}, block_with_view(v, a, {range(0, n)}, store(v, f(0), {0})), {m}));
  const auto* realize = actual->body.as<BlockRealize>();
  ASSERT_TRUE(realize);
  const auto* check = realize->block->body.as<AssertStmt>();
  ASSERT_TRUE(check);
  EXPECT_TRUE(same(check->body, store(a, f(0), {0})));
}

}  // namespace
}  // namespace loopsmith
