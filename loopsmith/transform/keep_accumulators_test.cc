// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/keep_accumulators.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/testing/evaluate.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct KeepAccumulators : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({16}, f32, "A"), b = decl_buffer({16}, f32, "B");
  Ptr<Buffer> sums = decl_buffer({4}, f32, "sums");
  Ptr<Var> i = var("i"), p = var("p"), n = var("n");

  /// The loop of an iteration p, with sums of its own that are written to B.
  Ptr<PrimFunc> over_sums(std::vector<Stmt> body) {
    const Stmt all = for_loop(p, 0, 2, for_loop(i, 0, 8, seq(std::move(body))));
    const Stmt inside =
        make(DeclBuffer{.buffer = sums,
                        .body = seq({for_loop(n, 0, 4, store(sums, f(1), {n})), all,
                                     for_loop(n, 0, 4, store(b, load(sums, {n}), {n + 12}))})});
    return function({a, b}, make(Allocate{.dtype = f32,
                                          .extents = sums->shape,
                                          .condition = true,
                                          .buffer_var = sums->data,
                                          .body = inside}));
  }
  Stmt add(const Expr& index) { return store(sums, load(sums, {index}) + load(a, {i}), {index}); }

  /// How many registers loops have got; what the function computes is as before.
  int registers_of(const Ptr<PrimFunc>& func) {
    const Ptr<PrimFunc> result = keep_accumulators(func);
    std::vector<TestArgument> before{{{16}, std::vector<double>(16, 2)},
                                     {{16}, std::vector<double>(16, 3)}};
    std::vector<TestArgument> after = before;
    evaluate(func, before);
    evaluate(result, after);
    EXPECT_EQ(before, after) << script(result);
    int count = 0;
    pre_order_visit(result->body, [&](const Ref& node) {
      count += node.is<Allocate>();
      return true;
    });
    return count - 1;
  }
};

TEST_F(KeepAccumulators, knows_memory_of_the_function_apart_from_arguments) {
  EXPECT_EQ(registers_of(over_sums({add(p), store(b, load(sums, {p}), {i})})), 1);
}

TEST_F(KeepAccumulators, keeps_neighbours_that_an_unrolled_loop_updates) {
  EXPECT_EQ(registers_of(over_sums({add(p * 2), add(p * 2 + 1)})), 2);
}

TEST_F(KeepAccumulators, keeps_once_what_an_unrolled_loop_updates_by_one_statement) {
  const Stmt twice = add(p * 2);
  EXPECT_EQ(registers_of(over_sums({twice, add(p * 2 + 1), twice})), 2);
}

TEST_F(KeepAccumulators, keeps_lanes_that_a_mask_leaves) {
  const Expr lanes = make(Ramp{.base = p * 2, .stride = 1, .lanes = 2});
  const auto add_where = [&](const Expr& mask, const Expr& read_where) {
    const Expr old = make(BufferLoad{.buffer = sums, .indices = {lanes}, .predicate = read_where});
    return make(BufferStore{.buffer = sums,
                            .value = old + broadcast(load(a, {i}), 2),
                            .indices = {lanes},
                            .predicate = mask});
  };
  const Expr fixed = lanes < broadcast(Expr(3), 2);
  EXPECT_EQ(registers_of(over_sums({add_where(fixed, fixed)})), 1);
  const Expr moving = lanes < broadcast(Expr(i), 2);
  EXPECT_EQ(registers_of(over_sums({add_where(moving, moving)})), 0);
  EXPECT_EQ(registers_of(over_sums({add_where(fixed, nullptr)})), 0);
}

TEST_F(KeepAccumulators, keeps_sums_of_local_memory_that_no_registers_hold) {
  const auto count = [&](int elements) {
    sums = decl_buffer({elements}, f32, "sums", "local");
    return registers_of(over_sums({add(p)}));
  };
  EXPECT_EQ(count(4), 0);
  EXPECT_EQ(count(1000), 1);
}

TEST_F(KeepAccumulators, leaves_elements_that_may_be_one) {
  EXPECT_EQ(registers_of(over_sums({add(p * 2), add(p + 1)})), 0);
}

}  // namespace
}  // namespace loopsmith
