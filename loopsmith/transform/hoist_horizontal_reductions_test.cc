// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_horizontal_reductions.h"

#include <functional>

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct LiftReductions : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), c = decl_buffer({64}, f32, "C");
  Ptr<Var> i = var("i"), j = var("j"), k = var("k");
  Expr lanes = ramp(0, 1, 16);

  Stmt lifted(Stmt body) { return hoist_horizontal_reductions(function({a, c}, body))->body; }
  Stmt add(Expr at, Expr index) {
    const Expr vector = load(a, {ramp(index * 16, 1, 16)});
    return store(c, load(c, {at}) + call(f32, op("vector_reduce_add"), {vector}), {at});
  }
  /// The same sum, lane by lane.
  Stmt by_lane(const Ptr<Buffer>& sum, Expr at, std::function<Stmt(Stmt)> loops, Expr index) {
    const Expr vector = load(a, {ramp(index * 16, 1, 16)});
    const Expr total = call(f32, op("vector_reduce_add"), {load(sum, {lanes})});
    return allocated(sum, seq({store(sum, broadcast(f(-0.0), 16), {lanes}),
                               loops(store(sum, vector + load(sum, {lanes}), {lanes})),
                               store(c, load(c, {at}) + total, {at})}));
  }
  Ptr<Buffer> sum = decl_buffer({16}, f32, "sum", "local");
};

TEST_F(LiftReductions, adds_up_lanes_after_the_loop) {
  EXPECT_TRUE(
      same(lifted(for_loop(i, 0, 9, for_loop(k, 0, 4, add(i, k)))),
           for_loop(i, 0, 9, by_lane(sum, i, [&](Stmt s) { return for_loop(k, 0, 4, s); }, k))));
}

TEST_F(LiftReductions, leaves_every_loop_in_which_the_element_stays) {
  const auto loops = [&](Stmt s) { return for_loop(j, 0, 4, for_loop(k, 0, 4, s)); };
  EXPECT_TRUE(same(lifted(loops(add(3, j + k))), by_lane(sum, 3, loops, j + k)));
}

TEST_F(LiftReductions, touches_the_element_only_where_all_loops_run) {
  const Ptr<Var> n = var("n"), m = var("m");
  const auto loops = [&](Stmt s) { return for_loop(j, 0, n, for_loop(k, 0, m, s)); };
  const Expr total = call(f32, op("vector_reduce_add"), {load(sum, {lanes})});
  const Stmt update = store(c, load(c, {3}) + total, {3});
  const Stmt vector =
      loops(store(sum, load(a, {ramp(k * 16, 1, 16)}) + load(sum, {lanes}), {lanes}));
  EXPECT_TRUE(same(lifted(loops(add(3, k))),
                   allocated(sum, seq({store(sum, broadcast(f(-0.0), 16), {lanes}), vector,
                                       if_then(n > 0 && m > 0, update)}))));
}

TEST_F(LiftReductions, leaves_a_statement_that_stands_again_in_a_tail) {
  const Ptr<Var> n = var("n");
  const Stmt update = add(3, 0);
  const Stmt tail = for_loop(k, 0, 1, if_then(0 < n, update));
  const Stmt both = for_loop(i, 0, n, seq({for_loop(j, 0, floordiv(n, 2), update), tail}));
  const Stmt result = lifted(both);
  ASSERT_TRUE(result.is<For>());  // The loop over the first part has lanes of its own.
  EXPECT_TRUE(same(result.as<For>()->body.as<SeqStmt>()->seq[1], tail));
}

TEST_F(LiftReductions, reads_other_elements_of_the_buffer) {
  const auto solve = [&](Expr extent) {
    const Expr vector = load(c, {ramp(k * 16, 1, 16)});
    const Expr total = call(f32, op("vector_reduce_add"), {vector});
    return for_loop(k, 0, extent, store(c, load(c, {i}) + total, {i}));
  };
  const auto is_lifted = [&](Expr extent) {
    return lifted(for_loop(i, 0, 64, solve(extent))).as<For>()->body.is<Allocate>();
  };
  EXPECT_TRUE(is_lifted(floordiv(i, 16)));
  EXPECT_FALSE(is_lifted(floordiv(i, 16) + 1));
}

TEST_F(LiftReductions, reads_other_elements_of_rows_of_any_length) {
  const Ptr<Var> n = var("n");
  const auto is_lifted = [&](int first) {
    const Expr row = load(c, {ramp(i * n + k * 16, 1, 16)});
    const Expr total = call(f32, op("vector_reduce_add"), {row});
    const Expr at = i * n + j;
    const Stmt sum = for_loop(k, 0, 4, store(c, load(c, {at}) + total, {at}));
    const Stmt nest = for_loop(i, 0, n, for_loop(j, first, n - first, sum));
    return lifted(nest).as<For>()->body.as<For>()->body.is<Allocate>();
  };
  EXPECT_TRUE(is_lifted(64));
  EXPECT_FALSE(is_lifted(63));
}

TEST_F(LiftReductions, has_lanes_for_each_element_of_a_tile) {
  const auto tile = [&](const Ptr<Var>& at, Stmt s) {
    return for_loop(at, 0, 4, std::move(s), ForKind::unrolled);
  };
  const Ptr<Buffer> sums = decl_buffer({64}, f32, "sums", "local");
  const Ptr<Var> first = var("first"), last = var("last");
  const auto at = [](const Ptr<Var>& each) { return ramp(each * 16, 1, 16); };
  const Expr total = call(f32, op("vector_reduce_add"), {load(sums, {at(last)})});
  const Expr vector = load(a, {ramp((j + k) * 16, 1, 16)}) + load(sums, {at(j)});
  EXPECT_TRUE(same(
      lifted(for_loop(i, 0, 9, for_loop(k, 0, 4, tile(j, add(i * 4 + j, j + k))))),
      for_loop(i, 0, 9,
               allocated(sums, seq({tile(first, store(sums, broadcast(f(-0.0), 16), {at(first)})),
                                    for_loop(k, 0, 4, tile(j, store(sums, vector, {at(j)}))),
                                    tile(last, store(c, load(c, {i * 4 + last}) + total,
                                                     {i * 4 + last}))})))));
  const Stmt large = for_loop(k, 0, 4, for_loop(j, 0, 33, add(j, k), ForKind::unrolled));
  EXPECT_TRUE(same(lifted(large), large));
}

TEST_F(LiftReductions, leaves_an_element_that_is_used_in_the_loop) {
  const Stmt loop = for_loop(k, 0, 4, seq({add(3, k), store(a, load(c, {3}), {k})}));
  EXPECT_TRUE(same(lifted(loop), loop));
  const Stmt conditional = for_loop(k, 0, 4, if_then(load(a, {k}) > f(0), add(3, k)));
  EXPECT_TRUE(same(lifted(conditional), conditional));
}

}  // namespace
}  // namespace loopsmith
