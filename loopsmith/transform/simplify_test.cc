// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/simplify.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct Simplify : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A");
  Ptr<Var> i = var("i"), u = var("u"), n = var("n");

  Stmt simplified(Stmt body) { return simplify(function({a}, body, {n}))->body; }
};

TEST_F(Simplify, drops_conditions_that_loops_decide) {
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 4, if_then(i < 5, store(a, f(1), {i})))),
                   for_loop(i, 0, 4, store(a, f(1), {i}))));
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 4, if_then(i > 5, store(a, f(1), {i})))), no_op()));
}

TEST_F(Simplify, uses_conditions_around) {
  const Stmt once = store(a, f(1), {i});
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 64, if_then(i < n, if_then(i < n, once)))),
                   for_loop(i, 0, 64, if_then(i < n, once))));
}

TEST_F(Simplify, knows_how_many_threads_a_mark_starts) {
  const Ptr<IterVar> axis =
      make(IterVar{.var = i, .iter_type = IterType::thread_index, .thread_tag = "threadIdx.x"});
  const auto started = [&](const Expr& count, const Stmt& body) {
    return make(AttrStmt{.node = axis, .attr_key = "thread_extent", .value = count, .body = body});
  };
  const Stmt once = store(a, f(1), {i}), some = if_then(i < 12, once);
  EXPECT_TRUE(same(simplified(seq({started(8, some), started(n, some)})),
                   seq({started(8, once), started(n, some)})));
}

TEST_F(Simplify, puts_the_value_of_a_unit_loop_in_place) {
  EXPECT_TRUE(same(simplified(for_loop(u, 3, 1, for_loop(i, 0, 4, store(a, f(1), {i + u})))),
                   for_loop(i, 0, 4, store(a, f(1), {i + 3}))));
}

TEST_F(Simplify, keeps_a_unit_loop_that_is_left_by_a_break) {
  const Stmt loop = for_loop(u, 3, 1, seq({store(a, f(1), {u}), make(Break{})}));
  EXPECT_TRUE(simplified(loop).is<For>());
}

TEST_F(Simplify, drops_empty_loops_and_branches) {
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 0, store(a, f(1), {i}))), no_op()));
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 9, no_op())), no_op()));
  EXPECT_TRUE(same(simplified(if_then(n < 3, no_op(), store(a, f(1), {0}))),
                   if_then(2 < n, store(a, f(1), {0}))));
}

TEST_F(Simplify, takes_indices_never_to_overflow_but_not_data) {
  const Ptr<Buffer> b = decl_buffer({64}, i32, "B");
  const Stmt compare = if_then(i + 3 < n + 7, store(b, floordiv(floordiv(n, 4) + 100, 8), {i}));
  const Stmt as_data = for_loop(
      i, 0, 64, if_then(i + 3 < n + 7, store(b, floordiv(floordiv(n, 4) + 4, 8) + 12, {i})));
  EXPECT_TRUE(same(simplified(for_loop(i, 0, 64, compare)), as_data));
  const Stmt as_index = for_loop(i, 0, n, store(b, floordiv(n + 16, 32) + 12, {i}));
  EXPECT_TRUE(same(simplified(for_loop(i, 0, n, compare)), as_index));
}

TEST_F(Simplify, knows_data_that_an_operation_made_of_data) {
  const Ptr<Buffer> b = decl_buffer({64}, i32, "B");
  const Ptr<Var> y = var("y"), z = var("z");
  const auto body = [&](const Expr& stored) {
    const Stmt inner = make(LetStmt{.value = y ^ 5, .var = z, .body = store(b, stored, {0})});
    return make(LetStmt{.value = load(b, {1}), .var = y, .body = inner});
  };
  EXPECT_TRUE(same(simplified(body(floordiv(floordiv(z, 4) + 100, 8))),
                   body(floordiv(floordiv(z, 4) + 4, 8) + 12)));
}

TEST_F(Simplify, puts_names_of_constants_and_variables_in_place) {
  const Ptr<Var> x = var("x");
  EXPECT_TRUE(same(simplified(make(LetStmt{.value = n, .var = x, .body = store(a, f(1), {x + x})})),
                   store(a, f(1), {n * 2})));
}

TEST_F(Simplify, drops_assertions_that_hold) {
  const auto asserted = [&](Expr condition) {
    return make(AssertStmt{
        .condition = condition, .message = string_imm("no"), .body = store(a, f(1), {0})});
  };
  EXPECT_TRUE(
      same(simplified(for_loop(i, 0, 4, asserted(i < 4))), for_loop(i, 0, 4, store(a, f(1), {0}))));
  EXPECT_TRUE(simplified(asserted(n < 4)).is<AssertStmt>());
}

TEST_F(Simplify, learns_nothing_from_loops_that_may_not_run) {
  // That n < m is so inside of the first loop alone.
  const Ptr<Var> m = size_var("m"), k = var("k");
  const Stmt first =
      make(For{.loop_var = i, .min = n, .extent = m - n, .body = store(a, f(1), {i})});
  const Stmt then = if_then(n < m, store(a, f(2), {0}));
  const Stmt second =
      make(For{.loop_var = k, .min = m, .extent = n - m, .body = store(a, f(3), {k})});
  const Stmt all = seq({first, then, second});
  EXPECT_TRUE(same(simplify(function({a}, all, {n, m}))->body, all));
}

}  // namespace
}  // namespace loopsmith
