// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_allocations.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct PlanAllocations : ::testing::Test {
  Ptr<Var> n = size_var("n");
  Ptr<Buffer> a = decl_buffer({n, 8}, f32, "A"), b = decl_buffer({n, 8}, f32, "B");
  Ptr<Buffer> t = decl_buffer({n, 8}, f32, "T");
  Ptr<Var> i = var("i"), j = var("j"), k = var("k");

  Stmt planned(Stmt body) { return plan_allocations(function({a, b}, body))->body; }
  Stmt fill(Expr row) { return for_loop(j, 0, 8, store(t, load(a, {row, j}), {row, j})); }
  Stmt use(Expr row) { return for_loop(k, 0, 8, store(b, load(t, {row, k}), {row, k})); }
  /// Whether memory around `body` of a loop over rows moves into the loop.
  bool moves_into(Stmt body) {
    const Stmt result = planned(allocated(t, for_loop(i, 0, n, body)));
    return result.is<For>() && structural_equal_to(result, for_loop(i, 0, n, allocated(t, body)));
  }
  static bool structural_equal_to(const Stmt& x, const Stmt& y) { return bool(same(x, y)); }
};

TEST_F(PlanAllocations, moves_memory_into_the_loop_that_fills_and_uses_it) {
  EXPECT_TRUE(moves_into(seq({fill(i), use(i)})));
}

TEST_F(PlanAllocations, drops_memory_that_nobody_uses) {
  const Stmt body = store(a, f(1), {0, 0});
  EXPECT_TRUE(same(planned(allocated(t, body)), body));
}

TEST_F(PlanAllocations, leaves_memory_that_is_used_after_the_loop) {
  const Stmt body = allocated(t, seq({for_loop(i, 0, n, fill(i)), use(0)}));
  EXPECT_TRUE(same(planned(body), body));
}

TEST_F(PlanAllocations, leaves_memory_that_carries_values_to_the_next_iteration) {
  // One row before: what an earlier iteration wrote.
  const Stmt before = for_loop(k, 0, 8, store(b, load(t, {max(i - 1, 0), k}), {i, k}));
  EXPECT_FALSE(moves_into(seq({fill(i), before})));
  // Written in the first iteration only.
  const Ptr<Buffer> sum = decl_buffer({}, f32, "sum");
  const Stmt add = store(sum, load(sum, {}) + load(a, {i, 0}), {});
  const Stmt body =
      allocated(sum, for_loop(i, 0, n, seq({if_then(i == 0, store(sum, f(0), {})), add})));
  EXPECT_TRUE(same(planned(body), body));
}

TEST_F(PlanAllocations, needs_all_that_is_read_to_be_written) {
  const Stmt half = for_loop(j, 0, 4, store(t, load(a, {i, j}), {i, j}));
  EXPECT_FALSE(moves_into(seq({half, use(i)})));
  const Stmt every_other = for_loop(j, 0, 4, store(t, load(a, {i, j}), {i, j * 2}));
  EXPECT_FALSE(moves_into(seq({every_other, use(i)})));
  const Stmt diagonal = for_loop(j, 0, 8, store(t, f(1), {j, j}));
  EXPECT_FALSE(moves_into(seq({diagonal, for_loop(k, 0, 8, store(b, load(t, {k, 0}), {k, 0}))})));
}

TEST_F(PlanAllocations, takes_conditions_on_indices_into_account) {
  const Ptr<Var> jo = var("jo"), ji = var("ji");
  const Expr at = jo * 3 + ji;
  const auto tiled = [&](Expr condition) {
    return for_loop(jo, 0, 3,
                    for_loop(ji, 0, 3, if_then(condition, store(t, load(a, {i, at}), {i, at}))));
  };
  EXPECT_TRUE(moves_into(seq({tiled(at < 8), use(i)})));
  EXPECT_FALSE(moves_into(seq({tiled(at < 7), use(i)})));
  EXPECT_FALSE(moves_into(seq({tiled(load(a, {i, 0}) > f(0)), use(i)})));
}

TEST_F(PlanAllocations, lets_a_condition_be_that_of_the_read) {
  const Expr condition = i < 5;
  EXPECT_TRUE(moves_into(seq({if_then(condition, fill(i)), if_then(condition, use(i))})));
  EXPECT_FALSE(moves_into(seq({if_then(condition, fill(i)), use(i)})));
}

TEST_F(PlanAllocations, leaves_memory_whose_pointer_is_used) {
  const Stmt call =
      make(Evaluate{.value = loopsmith::call(i32, op("call_extern"), {string_imm("f"), t->data})});
  EXPECT_FALSE(moves_into(seq({fill(i), call, use(i)})));
}

}  // namespace
}  // namespace loopsmith
