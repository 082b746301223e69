// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/unroll_loops.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct UnrollLoops : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A");
  Ptr<Var> i = var("i"), j = var("j"), n = size_var("n");

  Ptr<PrimFunc> func(Stmt body) { return function({a}, body, {n}); }
  Stmt unrolled(Stmt body) { return unroll_loops(func(body))->body; }
  Stmt set(Expr at) { return store(a, f(1), {at}); }
};

TEST_F(UnrollLoops, copies_the_body_for_each_iteration) {
  EXPECT_TRUE(same(unrolled(for_loop(i, 3, 3, set(i * 2), ForKind::unrolled)),
                   seq({set(6), set(8), set(10)})));
  EXPECT_TRUE(same(unrolled(for_loop(j, 0, n, for_loop(i, 0, 2, set(j + i), ForKind::unrolled))),
                   for_loop(j, 0, n, seq({set(j), set(j + 1)}))));
}

TEST_F(UnrollLoops, gives_each_copy_its_own_definitions) {
  const Ptr<Var> k = var("k");
  const auto actual =
      unroll_loops(func(for_loop(i, 0, 2, for_loop(j, 0, n, set(j)), ForKind::unrolled)));
  EXPECT_TRUE(same(actual->body, seq({for_loop(j, 0, n, set(j)), for_loop(k, 0, n, set(k))})));
}

TEST_F(UnrollLoops, decides_conditions_that_became_constant) {
  EXPECT_TRUE(same(unrolled(for_loop(i, 0, 3, if_then(i < 2, set(i)), ForKind::unrolled)),
                   seq({set(0), set(1)})));
}

TEST_F(UnrollLoops, leaves_out_clamps_that_no_iteration_around_needs) {
  EXPECT_TRUE(same(
      unrolled(for_loop(j, 0, 13, for_loop(i, 0, 3, set(min(j * 5 + i, 61)), ForKind::unrolled))),
      for_loop(j, 0, 13, seq({set(j * 5), set(j * 5 + 1), set(min(j * 5 + 2, 61))}))));
  EXPECT_TRUE(
      same(unrolled(for_loop(j, 1, 9, for_loop(i, 0, 2, set(max(j - i, 1)), ForKind::unrolled))),
           for_loop(j, 1, 9, seq({set(j), set(max(j - 1, 1))}))));
}

TEST_F(UnrollLoops, unrolls_small_loops_under_a_pragma) {
  const auto pragma = [&](int steps, Stmt body) {
    return make(AttrStmt{.attr_key = "pragma_auto_unroll_max_step", .value = steps, .body = body});
  };
  const Stmt loop = for_loop(i, 0, 4, set(i));
  EXPECT_TRUE(same(unrolled(pragma(4, loop)), seq({set(0), set(1), set(2), set(3)})));
  EXPECT_TRUE(same(unrolled(pragma(3, loop)), loop));
}

TEST_F(UnrollLoops, leaves_a_symbolic_extent_to_the_code_generator) {
  const Stmt inner = for_loop(j, 0, 2, set(i + j), ForKind::unrolled);
  For left = *for_loop(i, 0, n, seq({set(i), set(i + 1)})).as<For>();
  left.annotations = left.annotations.with("unroll_later", int_imm(i32, 1));
  EXPECT_TRUE(same(unrolled(for_loop(i, 0, n, inner, ForKind::unrolled)), make(std::move(left))));
}

TEST_F(UnrollLoops, leaves_a_loop_that_is_left_early_to_the_code_generator) {
  for (const Stmt& leave : {Stmt(make(Break{})), Stmt(make(Continue{}))}) {
    const Stmt body = seq({set(i), if_then(n < i, leave)});
    For left = *for_loop(i, 0, 4, body).as<For>();
    left.annotations = left.annotations.with("unroll_later", int_imm(i32, 1));
    EXPECT_TRUE(same(unrolled(for_loop(i, 0, 4, body, ForKind::unrolled)), make(std::move(left))));
  }
}

TEST_F(UnrollLoops, refuses_to_explode) {
  const Stmt loop =
      for_loop(i, 0, 1000, for_loop(j, 0, 1000, set(j), ForKind::unrolled), ForKind::unrolled);
  EXPECT_EQ(error_of([&] { unrolled(loop); }),
            "unroll: 1000 copies of the 1000 statements of loop i are more than 65536 statements\n"
            "  hint: split the loop, unroll the inner one");
}

}  // namespace
}  // namespace loopsmith
