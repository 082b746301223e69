// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/narrow_indices.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct NarrowIndices : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({int_imm(i64, 800)}, f32, "A");
  Ptr<Var> i = var("i"), wide = var("i", i64), n = size_var("n", i64);

  Stmt narrowed(Stmt body) { return narrow_indices(function({a}, body, {n}))->body; }
  static Expr large(std::int64_t value) { return int_imm(i64, value); }
};

TEST_F(NarrowIndices, narrows_what_is_proved_to_fit) {
  EXPECT_TRUE(same(narrowed(for_loop(wide, large(0), large(100),
                                     if_then(wide < large(50), store(a, f(1), {wide * large(8)})))),
                   for_loop(i, 0, 100, if_then(i < 50, store(a, f(1), {i * 8})))));
}

TEST_F(NarrowIndices, leaves_what_depends_on_a_size_without_a_bound) {
  const Stmt body = for_loop(wide, large(0), n, store(a, f(1), {wide * large(8)}));
  EXPECT_TRUE(same(narrowed(body), body));
}

TEST_F(NarrowIndices, leaves_what_is_too_large_and_narrows_the_rest) {
  const Expr far = wide * large(1LL << 30);
  EXPECT_TRUE(same(narrowed(for_loop(wide, large(0), large(100), store(a, f(1), {far}))),
                   for_loop(i, 0, 100, store(a, f(1), {cast(i64, i) * large(1LL << 30)}))));
}

TEST_F(NarrowIndices, leaves_a_loop_whose_end_does_not_fit) {
  const Stmt body = for_loop(wide, large(0), large((1LL << 31) + 1), store(a, f(1), {wide - wide}));
  EXPECT_EQ(narrowed(body).as<For>()->loop_var->dtype, i64);
}

TEST_F(NarrowIndices, looks_at_what_an_index_is_made_of) {
  // The difference fits, its operands do not.
  const Expr index = (wide * large(1LL << 32)) - (wide * large(1LL << 32) - wide);
  const Stmt result = narrowed(for_loop(wide, large(0), large(8), store(a, f(1), {index})));
  const Expr actual = result.as<For>()->body.as<BufferStore>()->indices[0];
  EXPECT_EQ(actual.dtype(), i64);
}

}  // namespace
}  // namespace loopsmith
