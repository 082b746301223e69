// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/carry_in_registers.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/testing/evaluate.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

struct CarryInRegisters : ::testing::Test {
  Ptr<Buffer> a = decl_buffer({16}, f32, "A"), b = decl_buffer({18}, f32, "B");
  Ptr<Var> i = var("i"), n = size_var("n");

  Ptr<PrimFunc> in(Stmt body, bool noalias = true) {
    const Ptr<PrimFunc> func = function({a, b}, std::move(body));
    return with_attr(func, "tir.noalias", Expr(noalias));
  }
  /// How many registers a loop has got; what it computes is as before.
  int registers_of(const Ptr<PrimFunc>& func) {
    const Ptr<PrimFunc> result = carry_in_registers(func);
    std::vector<TestArgument> before{{{16}, std::vector<double>(16, 2)},
                                     {{18}, std::vector<double>(18, 3)}};
    std::vector<TestArgument> after = before;
    evaluate(func, before);
    evaluate(result, after);
    EXPECT_EQ(before, after) << script(result);
    int count = 0;
    pre_order_visit(result->body, [&](const Ref& node) {
      count += node.is<Allocate>();
      return true;
    });
    return count;
  }
};

TEST_F(CarryInRegisters, keeps_the_sum_of_a_prefix_sum) {
  const Stmt sum = store(b, load(b, {i}) + load(a, {i}), {i + 1});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, sum))), 2);
}

TEST_F(CarryInRegisters, keeps_two_values_of_a_recurrence_of_second_order) {
  const Stmt next = store(b, load(b, {i + 1}) + load(b, {i}), {i + 2});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 8, next))), 3);
}

TEST_F(CarryInRegisters, keeps_no_value_that_the_store_itself_replaces) {
  const Stmt next =
      store(b, load(b, {floordiv(i + 1, 2)}) + load(b, {floordiv(i, 2)}), {floordiv(i + 2, 2)});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, next))), 2);
}

TEST_F(CarryInRegisters, follows_a_loop_downwards) {
  const Expr at = 15 - i;
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 15, store(b, load(b, {at + 1}) + f(1), {at})))), 2);
}

TEST_F(CarryInRegisters, loads_nothing_that_the_first_iteration_does_not) {
  const Expr before = if_then_else(i > 0, load(b, {i - 1}), f(0));
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, store(b, before + f(1), {i})))), 0);
  const Stmt second_only = store(b, load(b, {i}) + f(1), {i + 2});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, second_only))), 0);
}

TEST_F(CarryInRegisters, leaves_what_another_store_may_change) {
  const Stmt sum = store(b, load(b, {i}) + load(a, {i}), {i + 1});
  const Stmt other = store(a, load(b, {i}), {i});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, seq({sum, other})), false)), 0);
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, seq({sum, other})), true)), 2);
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, seq({sum, store(b, f(0), {3})})))), 0);
}

TEST_F(CarryInRegisters, keeps_values_of_rows_that_are_apart) {
  const auto rows = [&](Expr apart) {
    return seq({store(b, load(b, {i}) + load(a, {i}), {i + 1}),
                store(b, load(b, {i + apart}) + load(b, {i}), {i + apart + 1})});
  };
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 8, rows(9)))), 4);
  // The first row replaces values of the second one.
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 8, rows(1)))), 2);
  const auto where = [&](Expr condition) {
    const Ptr<PrimFunc> func =
        function({a, b}, if_then(condition, for_loop(i, 0, 8, rows(n))), {n});
    int count = 0;
    pre_order_visit(carry_in_registers(with_attr(func, "tir.noalias", Expr(true)))->body,
                    [&](const Ref& node) {
                      count += node.is<Allocate>();
                      return true;
                    });
    return count;
  };
  EXPECT_EQ(where(Expr(n) >= 9), 4);
  EXPECT_EQ(where(Expr(n) < 9), 0);
}

TEST_F(CarryInRegisters, keeps_no_value_that_the_store_has_replaced_before_it_is_read) {
  const Stmt next = store(b, load(a, {i}), {floordiv(i + 2, 2)});
  const Stmt use = store(a, load(b, {floordiv(i + 1, 2)}), {i});
  EXPECT_EQ(registers_of(in(for_loop(i, 0, 16, seq({next, use})))), 0);
}

/// Rows of a table, each a lane, one column behind the row above.
struct CarryLanes : CarryInRegisters {
  Ptr<Buffer> c = decl_buffer({81}, f32, "C");

  Expr at(Expr row, Expr column, Expr width) const {
    return ramp(row * width + column + i, width - 1, 4);
  }
  Stmt rows(const std::vector<std::pair<int, int>>& read, Expr width = 9) const {
    Expr sum = broadcast(f(1), 4);
    for (const auto& [row, column] : read) sum = sum + load(c, {at(row, column, width)});
    return for_loop(i, 0, 5, store(c, sum, {at(1, 4, width)}));
  }
  int carries(const std::vector<std::pair<int, int>>& read) {
    const Ptr<PrimFunc> func = function({c}, rows(read));
    const Ptr<PrimFunc> result = carry_in_registers(func);
    std::vector<TestArgument> before{{{81}, {}}};
    for (int k = 0; k < 81; ++k) before[0].elements.push_back(k % 7);
    std::vector<TestArgument> after = before;
    evaluate(func, before);
    evaluate(result, after);
    EXPECT_EQ(before, after) << script(result);
    int count = 0;
    pre_order_visit(result->body, [&](const Ref& node) {
      const auto* load = node.as<BufferLoad>();
      count += load && load->buffer->name.find("carry") != std::string::npos;
      return true;
    });
    return count;
  }
};

TEST_F(CarryLanes, keeps_vectors) {
  EXPECT_EQ(carries({{1, 3}}), 1);  // Left.
}

TEST_F(CarryLanes, shifts_lanes_of_rows_that_need_each_other) {
  EXPECT_EQ(carries({{0, 4}}), 1);                  // Above.
  EXPECT_EQ(carries({{1, 3}, {0, 4}}), 2);          // Both.
  EXPECT_EQ(carries({{1, 3}, {0, 4}, {0, 3}}), 4);  // And what was above before.
}

TEST_F(CarryLanes, leaves_what_is_no_lane_of_an_earlier_store) {
  EXPECT_EQ(carries({{2, 4}}), 0);  // Below: nothing has stored it.
  EXPECT_EQ(carries({{0, 3}}), 0);  // Two iterations ago, and nothing a single one ago.
}

TEST_F(CarryLanes, multiplies_rows_out) {
  const Ptr<Var> m = var("m");
  // Rows of n + 1 elements, from row m + 1 on.
  const Expr row = Expr(m) + 1;
  const auto place = [&](const Expr& in, int column) {
    return ramp(in * (Expr(n) + 1) + column + i, n, 4);
  };
  const Stmt body =
      if_then(Expr(n) >= 2, for_loop(i, 0, 5, store(c, load(c, {place(m, 4)}), {place(row, 4)})));
  const auto func = function({c}, body, {n, m});
  EXPECT_FALSE(structural_equal(body, carry_in_registers(func)->body)) << script(func);
}

TEST_F(CarryLanes, asks_whether_lanes_are_apart) {
  const auto is_carried = [&](Expr least) {
    const Stmt body = if_then(Expr(n) >= least, rows({{1, 3}}, n));
    return !structural_equal(body, carry_in_registers(function({c}, body, {n}))->body);
  };
  EXPECT_TRUE(is_carried(2));
  EXPECT_FALSE(is_carried(1));
}

}  // namespace
}  // namespace loopsmith
