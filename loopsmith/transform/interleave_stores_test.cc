// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/interleave_stores.h"

#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct InterleaveStores : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({64}, f32, "A"), b = decl_buffer({64}, f32, "B");
  Ptr<Var> i = var("i");

  Stmt made(std::vector<Stmt> stores, bool is_for_device = false) {
    return interleave_stores(function({a, b}, for_loop(i, 0, 4, seq(std::move(stores)))),
                             is_for_device)
        ->body;
  }
  Expr pairs(int ahead) { return ramp(Expr(i) * 8 + ahead, 2, 4); }
  Expr from_b(int at) { return load(b, {ramp(Expr(i) * 4 + at, 1, 4)}); }
  Stmt both(Expr even, Expr odd) {
    std::vector<Expr> order;
    for (int at = 0; at < 8; ++at) order.push_back(int_imm(i32, at % 2 * 4 + at / 2));
    return for_loop(i, 0, 4,
                    store(a, make(Shuffle{.vectors = {even, odd}, .indices = order}),
                          {ramp(Expr(i) * 8, 1, 8)}));
  }
  bool stays(std::vector<Stmt> stores) {
    return same(made(stores), for_loop(i, 0, 4, seq(stores)));
  }
};

TEST_F(InterleaveStores, makes_one_of_those_that_fill_all_elements) {
  const Stmt even = store(a, from_b(0), {pairs(0)}), odd = store(a, from_b(9), {pairs(1)});
  EXPECT_TRUE(same(made({even, odd}), both(from_b(0), from_b(9))));
  EXPECT_TRUE(same(made({odd, even}), both(from_b(0), from_b(9))));
}

TEST_F(InterleaveStores, lets_later_values_read_other_elements_alone) {
  const Stmt even = store(a, load(a, {pairs(1)}), {pairs(0)});
  EXPECT_TRUE(same(made({even, store(a, load(a, {pairs(1)}) + from_b(0), {pairs(1)})}),
                   both(load(a, {pairs(1)}), load(a, {pairs(1)}) + from_b(0))));
  EXPECT_TRUE(stays({even, store(a, load(a, {pairs(0)}), {pairs(1)})}));
  EXPECT_TRUE(stays({even, store(a, load(a, {ramp(i, 1, 4)}), {pairs(1)})}));
  EXPECT_TRUE(stays({even, store(a, broadcast(load(a, {i}), 4), {pairs(1)})}));
}

TEST_F(InterleaveStores, leaves_what_does_not_fill_all_elements) {
  const Stmt even = store(a, from_b(0), {pairs(0)});
  EXPECT_TRUE(stays({even, store(a, from_b(0), {pairs(3)})}));
  EXPECT_TRUE(stays({even, store(a, from_b(0), {pairs(0)})}));
  EXPECT_TRUE(stays({even, store(b, from_b(0), {pairs(1)})}));
  EXPECT_TRUE(stays({even, store(a, from_b(0), {ramp(i, 1, 4)})}));
  const std::vector<Stmt> both = {even, store(a, from_b(9), {pairs(1)})};
  EXPECT_TRUE(same(made(both, /*is_for_device=*/true), for_loop(i, 0, 4, seq(both))));
}

}  // namespace
}  // namespace loopsmith
