// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_allocations.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
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

TEST_F(PlanAllocations, drops_unused_memory) {
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

TEST_F(PlanAllocations, knows_digits_of_one_loop_in_several_indices) {
  // A tile of 8 x 8 by 32 iterations of two elements; T[i, ...] is a tile of rows.
  const Ptr<Buffer> tile = decl_buffer({8, 8}, f32, "tile");
  const Ptr<Var> x = var("x"), e = var("e");
  const auto moves = [&](Expr row, Expr column) {
    const Stmt fill = for_loop(
        x, 0, 32,
        for_loop(e, 0, 2, store(tile, load(a, {i, e}), {std::move(row), std::move(column)})));
    const Stmt use = for_loop(j, 0, 8, for_loop(k, 0, 8, store(b, load(tile, {k, j}), {i, k})));
    const Stmt body = seq({fill, use});
    return bool(same(planned(allocated(tile, for_loop(i, 0, n, body))),
                     for_loop(i, 0, n, allocated(tile, body))));
  };
  EXPECT_TRUE(moves(floordiv(x, 4), floormod(x, 4) * 2 + e));
  EXPECT_TRUE(moves(floordiv(x, 4), floormod(x, 4) + e * 4));
  // The same digit twice gives a diagonal; eight digits and two, some twice; gaps.
  EXPECT_FALSE(moves(floordiv(x, 4), floormod(floordiv(x, 4), 4) * 2 + e));
  EXPECT_FALSE(moves(floordiv(x, 4), floormod(x, 8)));
  EXPECT_FALSE(moves(floordiv(x, 8), floormod(x, 4) * 2 + e));
}

TEST_F(PlanAllocations, knows_elements_that_lie_apart) {
  // Every second element, by loops of their own; reads of the others, or of more.
  const auto moves = [&](Expr written, Expr read, int extent, Expr guard, Expr asked) {
    const Stmt fill = for_loop(j, 0, 4, if_then(guard, store(t, f(0), {i, std::move(written)})));
    const Stmt use =
        for_loop(k, 0, extent, if_then(asked, store(b, load(t, {i, std::move(read)}), {i, k})));
    return moves_into(seq({fill, use}));
  };
  EXPECT_TRUE(moves(j * 2, k * 2, 4, true, true));
  EXPECT_TRUE(moves(j * 2, k * 2, 4, j + i < n, k + i < n));
  EXPECT_FALSE(moves(j * 2, k * 2 + 1, 4, true, true));
  EXPECT_FALSE(moves(j * 2, k, 4, true, true));
  EXPECT_FALSE(moves(j * 2, k * 2, 3, j + i < n, true));
  EXPECT_FALSE(moves(j * 2, k * 2, 4, j + i < n, k + i < n + 1));
}

TEST_F(PlanAllocations, knows_no_elements_whose_number_may_change) {
  // Rows grow between the loop that fills them and the one that reads them.
  const Ptr<Buffer> length = decl_buffer({1}, i32, "length");
  const Expr count = load(length, {0});
  const Stmt fill = for_loop(j, 0, count, store(t, f(0), {i, j * 2}));
  const Stmt grow = store(length, count + 1, {0});
  const Stmt use = for_loop(k, 0, count, store(b, load(t, {i, k * 2}), {i, k}));
  EXPECT_FALSE(moves_into(seq({fill, grow, use})));
}

TEST_F(PlanAllocations, knows_writes_that_one_iteration_of_a_loop_does) {
  const Ptr<Var> once = var("once");
  const Stmt row = for_loop(j, 0, 8, store(t, load(a, {i, j}), {i, j}));
  const auto filled = [&](Expr extent, Expr condition) {
    return seq({for_loop(once, 0, std::move(extent), if_then(std::move(condition), row)), use(i)});
  };
  EXPECT_TRUE(moves_into(filled(3, once < 1)));
  EXPECT_FALSE(moves_into(filled(3, once < i)));
  // It may have no iteration.
  EXPECT_FALSE(moves_into(filled(1 - i, once < 1)));
  EXPECT_FALSE(moves_into(seq({for_loop(once, 0, 2 - i, row), use(i)})));
}

TEST_F(PlanAllocations, does_not_count_on_writes_that_a_break_or_a_while_may_leave_out) {
  const auto stores = [&](const Stmt& leave) {
    return for_loop(j, 0, 8, seq({if_then(load(a, {i, j}) < f(0), leave), store(t, f(1), {i, j})}));
  };
  EXPECT_FALSE(moves_into(seq({stores(make(Break{})), use(i)})));
  EXPECT_FALSE(moves_into(seq({stores(make(Continue{})), use(i)})));
  const Stmt loop = make(While{.condition = load(a, {i, 0}) < f(0), .body = fill(i)});
  EXPECT_FALSE(moves_into(seq({loop, use(i)})));
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

TEST(plan_allocations, leaves_what_threads_share_outside_of_them) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    B = T.alloc_buffer((8, 6), scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for j in range(6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 5 - vj])");
  const auto lowered = lower_function(func, {.verify = true});
  const std::string text = script(lowered);
  EXPECT_LT(text.find("scope=\"shared\""), text.find("threadIdx.x")) << text;
  interp::assert_same(func, lowered);
}

TEST(plan_allocations, takes_shared_memory_out_of_the_threads_that_share_it) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                B = T.alloc_buffer((4, 8), scope="shared")
                B[vi, vj] = A[vi, vj]
                C[vi, vj] = B[vi, vj] * T.float32(2))");
  const auto lowered = lower_function(func, {.verify = true});
  const std::string text = script(lowered);
  EXPECT_LT(text.find("blockIdx.x"), text.find("scope=\"shared\"")) << text;
  EXPECT_LT(text.find("scope=\"shared\""), text.find("threadIdx.x")) << text;
  EXPECT_NE(text.find("(8,), scope=\"shared\""), std::string::npos) << text;
  interp::assert_same(func, lowered);
}

TEST(plan_allocations, leaves_memory_in_the_threads_that_allocate_it) {
  for (const auto* axis : {"threadIdx.x", "blockIdx.x"}) {
    const auto func = parse_function(fmt::format(R"(@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="{}"):
        with T.block("both"):
            B = T.alloc_buffer((1,))
            B[0] = A[i]
            C[i] = B[0] * T.float32(2))",
                                                 axis));
    const auto lowered = lower_function(func, {.verify = true});
    const std::string text = script(lowered);
    EXPECT_GT(text.find("B = "), text.find(axis)) << text;
    interp::assert_same(func, lowered);
  }
}

TEST(plan_allocations, takes_shared_memory_out_of_lanes_that_fill_it_alike) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in T.vectorized(4):
            with T.block("both"):
                B = T.alloc_buffer((8, 6), scope="shared")
                for k in range(6):
                    B[i, k] = A[i, k]
                C[i, j] = B[i, j] + B[i, j + 2])");
  const auto lowered = lower_function(func, {.verify = true});
  const std::string text = script(lowered);
  EXPECT_LT(text.find("scope=\"shared\""), text.find("threadIdx.x")) << text;
  interp::assert_same(func, lowered);
}

}  // namespace
}  // namespace loopsmith
