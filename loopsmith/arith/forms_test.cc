// SPDX-License-Identifier: Apache-2.0
// The normal forms that users of the simplifiers rely on.
#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::show;

struct Forms : ::testing::Test {
  Expr x = var("x"), y = var("y"), z = var("z"), n = size_var("n");
  Analyzer analyzer;

  void bound(const Expr& variable, int min, int extent) {
    analyzer.bind(Ptr<Var>::from(variable), range(min, extent));
  }
  std::string rewritten(const Expr& e) { return show(analyzer.rewrite_simplify(e)); }
  std::string canonical(const Expr& e) { return show(analyzer.canonical_simplify(e)); }
  std::string simple(const Expr& e) { return show(analyzer.simplify(e)); }
};

TEST_F(Forms, constants_come_last) {
  EXPECT_EQ(rewritten(3 + x), "(x + 3)");
  EXPECT_EQ(rewritten(x - 3), "(x + -3)");
  EXPECT_EQ(rewritten(2 * x), "(x * 2)");
  EXPECT_EQ(rewritten((x + 3) + y + 4), "((x + y) + 7)");
  EXPECT_EQ(simple(x + y - 3), "((x + y) - 3)");
  EXPECT_EQ(simple(5 - x), "(5 - x)");
  EXPECT_EQ(simple(-x), "(x * -1)");
}

TEST_F(Forms, quotients_and_remainders_join) {
  EXPECT_EQ(rewritten(floordiv(x, 8) * 8 + floormod(x, 8)), "x");
  EXPECT_EQ(rewritten(x - floordiv(x, 8) * 8), "(x % 8)");
  EXPECT_EQ(canonical(floordiv(x, 32) * 4 + floordiv(floormod(x, 32), 8)), "(x // 8)");
  EXPECT_EQ(canonical(floormod(floordiv(x, 4), 8) * 4 + floormod(x, 4)), "(x % 32)");
  EXPECT_EQ(canonical(truncdiv(x, 8) * 8 + truncmod(x, 8)), "x");
  EXPECT_EQ(canonical(x - truncdiv(x, 8) * 8), "(x %t 8)");
}

TEST_F(Forms, multiples_of_a_sum_leave_its_quotient) {
  EXPECT_EQ(simple(floormod((x + 1) * 64, (x + 1) * 32)), "0");
  EXPECT_EQ(simple(floordiv((n + 1) * 64 + 5, (n * 2 + 2) * 16)), "2");
  EXPECT_EQ(simple(floormod((n + y) * 3 + 1, n + y)), "(1 % (n + y))");
  EXPECT_EQ(simple(truncdiv((x + y) * 6, (x + y) * 2)), "3");
  // A rest that may be negative says nothing.
  EXPECT_EQ(simple(floormod(y, y + 2)), "(y % (y + 2))");
  EXPECT_EQ(simple(truncmod((x + y) * 6 + 1, (x + y) * 2)),
            "((((x * 6) + (y * 6)) + 1) %t ((x * 2) + (y * 2)))");
}

TEST_F(Forms, products_are_compared_by_what_they_do_not_have_in_common) {
  EXPECT_EQ(simple(n * x <= n * y), "((n * x) <= (n * y))");
  const auto below = analyzer.constraint_scope(x < y);
  EXPECT_EQ(simple(n * x <= n * y), "1");
  EXPECT_EQ(simple(n * x < n * y), "((n * x) < (n * y))");  // n may be 0.
  EXPECT_EQ(simple(min(n * x, n * y)), "(n * x)");
  EXPECT_EQ(simple(z * x <= z * y), "((x * z) <= (y * z))");
  const auto rising = analyzer.constraint_scope(n > 0);
  EXPECT_EQ(simple(n * x < n * y), "1");
}

TEST_F(Forms, remainders_that_are_not_positive_are_0) {
  EXPECT_EQ(simple(x <= floordiv(x, 4) * 4), "((x % 4) == 0)");
  EXPECT_EQ(simple(floormod(x, n) < 1), "((x % n) == 0)");
  EXPECT_EQ(simple(truncmod(x, 4) <= 0), "((x %t 4) < 1)");
}

TEST_F(Forms, whole_logarithms_have_bounds) {
  const auto logarithm = [](Op rounding, const Expr& of) {
    return cast(i32, call(rounding, {call(op("log2"), {cast(f64, of)})}));
  };
  bound(x, 1025, 16);
  EXPECT_EQ(simple(logarithm(op("ceil"), x)), "11");
  EXPECT_EQ(simple(logarithm(op("floor"), x)), "10");
  bound(y, 3, 6);
  EXPECT_EQ(simple(logarithm(op("ceil"), y) <= 3), "1");
  EXPECT_EQ(simple(logarithm(op("ceil"), y) >= 2), "1");
  EXPECT_NE(simple(logarithm(op("floor"), y) == 3), "0");
  // What is not 0 is true.
  const Expr whole = call(op("floor"), {call(op("log2"), {cast(f64, x)})});
  EXPECT_EQ(analyzer.const_int_bound(cast(boolean, whole)), (ConstIntBound{0, 1}));
}

TEST_F(Forms, quotients_and_remainders_by_sizes_join) {
  const Expr m = size_var("m", i64), p = size_var("p", i64), f = var("f", i64);
  EXPECT_EQ(simple(floordiv(f, m) * m + floormod(f, m)), "f");
  EXPECT_EQ(simple((floordiv(f, m) + 2) * m + floormod(f, m)), "(f + (m * 2))");
  EXPECT_EQ(
      simple(floordiv(f, m * p) * (m * p) + floordiv(floormod(f, m * p), p) * p + floormod(f, p)),
      "f");
  EXPECT_NE(simple(floordiv(f, m) * p + floormod(f, m)), "f");
  EXPECT_NE(simple(floordiv(floormod(f, m), p) * p + floormod(f, p)), simple(floormod(f, m)));
}

TEST_F(Forms, remainders_join_quotients_of_which_multiples_were_dropped) {
  const Expr index = x * 32 + y * 8 + z;
  EXPECT_EQ(canonical(floordiv(index, 7) * 7 + floormod(index, 7)), "(((x * 32) + (y * 8)) + z)");
  EXPECT_EQ(canonical(floordiv(index, 7) * 3584 + floormod(index, 7) * 512 + n),
            "((((x * 16384) + (y * 4096)) + (z * 512)) + n)");
  EXPECT_EQ(canonical(floordiv(x * 8 + y, 7) * 7 + floormod(x + y, 7)), "((x * 8) + y)");
  const Expr tiled = x * 8 + y;
  EXPECT_EQ(
      simple(floordiv(tiled, 56) * 56 + floordiv(floormod(tiled, 56), 7) * 7 + floormod(tiled, 7)),
      "((x * 8) + y)");
  EXPECT_EQ(canonical(floordiv(x * 9 + y, 7) * 7 + floormod(x + y, 7)),
            canonical(floormod(x + y, 7) + floordiv(x * 9 + y, 7) * 7));
  const Expr fused = x * 16384 + y * 8 + z;
  EXPECT_EQ(canonical(floordiv(fused, 300) * 300 + floordiv(floormod(fused, 300), 3) * 3 +
                      floormod(fused, 3)),
            canonical(fused));
}

TEST_F(Forms, comparisons_lose_the_digits_that_decide_nothing) {
  bound(x, 0, 13);
  bound(y, 0, 2);
  bound(z, 0, 40);
  EXPECT_EQ(simple(x * 80 + y * 40 + z < 1000), "(((x * 2) + y) < 25)");
  EXPECT_EQ(simple(n * 80 + z < 950), "(n < 12)");
  EXPECT_EQ(simple(n * 80 + z <= 959), "(n < 12)");
  EXPECT_EQ(simple(960 <= n * 80 + z), "(11 < n)");
  EXPECT_EQ(simple(n * 80 + y < z * 160), "(n < (z * 2))");
  // They decide where the limit lies among their values.
  EXPECT_EQ(simple(n * 80 + z < 970), "((z + (n * 80)) < 970)");
  EXPECT_EQ(simple(n * 30 + z < 950), "((z + (n * 30)) < 950)");
}

TEST_F(Forms, digits_that_cannot_reach_the_divisor_go) {
  bound(x, -100, 200);  // Terms are written in the order in which the analyzer saw them.
  bound(y, 0, 8);
  EXPECT_EQ(simple(floordiv(x * 8 + y, 8)), "x");
  EXPECT_EQ(simple(floormod(x * 8 + y, 8)), "y");
  EXPECT_EQ(simple(floordiv(x * 8 + y, 32)), "(x // 4)");
  EXPECT_EQ(simple(floormod(x * 8 + y, 32)), "(((x % 4) * 8) + y)");
  EXPECT_EQ(simple(floordiv(floordiv(x, 3), 5)), "(x // 15)");
  EXPECT_EQ(simple(floordiv(x * 64 + z * 16 + y, 16)), "((x * 4) + z)");
}

TEST_F(Forms, rules_alone_keep_what_was_written) {
  EXPECT_EQ(rewritten(x * 4 <= 40), "(x <= 10)");
  EXPECT_EQ(simple(x * 4 <= 40), "(x < 11)");
  EXPECT_EQ(rewritten(min(x - z, y) + z), "Min(x, (y + z))");
  EXPECT_EQ(rewritten(min(y, x - z) + z), "Min((y + z), x)");
  bound(n, 0, 100);
  EXPECT_EQ(rewritten(truncdiv(n * 4 + 6, 2)), "((n * 2) + 3)");
  EXPECT_EQ(rewritten(truncdiv(n, 2)), "(n /t 2)");
  EXPECT_EQ(simple(truncdiv(n, 2)), "(n // 2)");
}

TEST_F(Forms, limits_between_multiples_become_tight) {
  EXPECT_EQ(rewritten(x < 20 && floormod(x, 5) < 2), "((x < 17) and ((x % 5) < 2))");
  EXPECT_EQ(rewritten(floordiv(x, 10) == 5 && floormod(x, 10) < 7), "((50 <= x) and (x < 57))");
  EXPECT_EQ(rewritten(y * 5 <= x && x < y * 5 + 5), "(y == (x // 5))");
}

TEST_F(Forms, symbolic_sizes_cancel) {
  EXPECT_EQ(simple(floordiv(x * n + y, n) - floordiv(y, n)), "x");
  EXPECT_EQ(simple(floormod(x * n + y, n)), "(y % n)");
  EXPECT_EQ(simple((x + 1) * n - x * n), "n");
}

TEST_F(Forms, comparisons_lose_what_both_sides_have) {
  EXPECT_EQ(simple(x * 4 + y < z + y + 3), "((x * 4) < (z + 3))");
  EXPECT_EQ(simple(x * 4 < y * 4 + 3), "(x <= y)");
  EXPECT_EQ(simple(x + 3 > 7), "(4 < x)");
  EXPECT_EQ(simple(x * 4 >= 9), "(2 < x)");
  EXPECT_EQ(simple(floordiv(x, 4) < 3), "(x < 12)");
  EXPECT_EQ(simple(x * 4 == y * 8 + 2), "0");
}

TEST_F(Forms, casts_of_sums_cancel_where_nothing_wraps) {
  EXPECT_EQ(simple(cast(i64, x + y + 1) - cast(i64, x)), "(int64(y) + 1)");
  EXPECT_EQ(simple(cast(i64, x * 4 + y)), "int64(((x * 4) + y))");
  const Expr i = var("i", i64), j = var("j", i64), one = int_imm(i64, 1);
  EXPECT_EQ(simple(cast(i32, i + j) - cast(i32, i)), "(int32((i + j)) - int32(i))");
  bound(i, 0, 11);
  bound(j, 0, 11);
  EXPECT_EQ(simple(cast(i32, i + j + one) - cast(i32, i)), "(int32(j) + 1)");
}

TEST_F(Forms, the_least_value_of_a_type_may_stand_in_an_equality) {
  EXPECT_EQ(canonical(-x + min_value(i32) == 0), "(x == -2147483648)");
  EXPECT_EQ(canonical(-x + min_value(i32) < 0), "(-2147483648 < x)");
}

TEST_F(Forms, conditions_join) {
  EXPECT_EQ(simple(x < 5 && x < 9), "(x < 5)");
  EXPECT_EQ(simple(x < 9 && x < 5), "(x < 5)");
  EXPECT_EQ(simple(!(x < 5) && x < 5), "0");
  EXPECT_EQ(simple(x < y || y <= x), "1");
  EXPECT_EQ(rewritten(floordiv(x, 4) == 3 && floormod(x, 4) == 1), "(x == 13)");
}

TEST_F(Forms, choices_know_their_condition) {
  EXPECT_EQ(simple(select(x < 5, min(x, 9), y)), "Select((x < 5), x, y)");
  EXPECT_EQ(simple(if_then_else(x >= 5, max(x, 2), y)), "if_then_else((4 < x), x, y)");
  EXPECT_EQ(simple(select(x < y, x, y)), "Min(x, y)");
  EXPECT_EQ(simple(likely(x < x + 1)), "1");
}

TEST_F(Forms, bits_become_arithmetic) {
  EXPECT_EQ(simple(n << 3), "(n * 8)");
  EXPECT_EQ(simple(x >> 3), "(x // 8)");
  EXPECT_EQ(simple(x & 7), "(x % 8)");
  // The upper bits are lost: a product would keep them.
  EXPECT_EQ(simple((x << 24) >> 24), "(shift_left(x, 24) // 16777216)");
}

TEST_F(Forms, calls_of_constants_are_computed_where_that_is_exact) {
  const auto of = [](Op op, double value) { return call(op, {float_imm(f32, value)}); };
  EXPECT_EQ(simple(of(op("ceil"), 2.25)), show(float_imm(f32, 3)));
  EXPECT_EQ(simple(of(op("log2"), 64)), show(float_imm(f32, 6)));
  EXPECT_EQ(simple(of(op("exp2"), -2)), show(float_imm(f32, 0.25)));
  EXPECT_EQ(simple(of(op("log2"), 65)), show(of(op("log2"), 65)));
  EXPECT_EQ(simple(call(op("clz"), {int_imm(i32, 1)})), "31");
  EXPECT_EQ(simple(call(op("popcount"), {int_imm(i8, -1)})), "8");
}

TEST_F(Forms, roundings_to_multiples_are_ordered) {
  const Expr n = size_var("n");
  const Expr up = floordiv(n + 15, 16) * 16;
  EXPECT_EQ(simple(n <= up), "1");
  EXPECT_EQ(simple(up < n), "0");
  EXPECT_EQ(simple(up - n < 16), "1");
  EXPECT_EQ(simple(n < up + 1), "1");
  EXPECT_EQ(simple(floordiv(n - 1, 16) * 16 < n), "1");
  EXPECT_EQ(simple(floordiv(n + 15, 16) - floordiv(n, 16) <= 1), "1");
  EXPECT_EQ(simple(floormod(x, n) < n), "1");
  EXPECT_EQ(simple(floormod(n, n + 2) <= n), "1");
  EXPECT_EQ(simple(floordiv(n, n + 2) <= n), "1");
  EXPECT_EQ(simple(min(x, y) - min(y, x)), "0");
  const Ptr<Var> j = var("j");
  analyzer.bind(j, range(0, n));
  EXPECT_TRUE(analyzer.can_prove(floordiv(j, 16) < floordiv(n + 15, 16)));
  EXPECT_TRUE(analyzer.can_prove(floordiv(j, 16) <= floordiv(n, 16)));
}

TEST_F(Forms, vectors_keep_their_ramps) {
  const Expr ramp = make(Ramp{.base = x, .stride = 1, .lanes = 4});
  EXPECT_EQ(rewritten(ramp + broadcast(y, 4)), "Ramp((x + y), 1)");
  EXPECT_EQ(rewritten(ramp * 4 + 2), "Ramp(((x * 4) + 2), 4)");
  bound(z, 0, 16);
  const Expr aligned = make(Ramp{.base = z * 4, .stride = 1, .lanes = 4});
  EXPECT_EQ(rewritten(floordiv(aligned, 4)), "Broadcast(z)");
  EXPECT_EQ(rewritten(floormod(aligned, 4)), "Ramp(0, 1)");
  EXPECT_EQ(rewritten(aligned < 64), "Broadcast(1)");
}

TEST_F(Forms, narrow_types_wrap) {
  const Expr a = var("a", u8);
  const Expr b = var("b", u8);
  EXPECT_EQ(simple(a + b - b), "a");
  EXPECT_EQ(simple(a + int_imm(u8, 1) < b + int_imm(u8, 1)), "((a + 1) < (b + 1))");
  EXPECT_FALSE(analyzer.can_prove(a < a + int_imm(u8, 1)));
  EXPECT_TRUE(analyzer.can_prove(x < x + 1));
}

TEST_F(Forms, large_unsigned_constants_keep_their_order) {
  const Expr a = var("a", u64);
  const Expr largest = max_value(u64);
  EXPECT_EQ(simple(min(min(a, largest), int_imm(u64, 8))), "Min(a, 8)");
  EXPECT_EQ(simple(max(max(a, int_imm(u64, 8)), largest)), "Max(a, -1)");
}

TEST_F(Forms, floats_change_only_where_it_is_exact) {
  const Expr f = var("f", f32);
  EXPECT_EQ(simple(f - f), "(f - f)");
  EXPECT_EQ(simple(min(f, f)), "f");
  EXPECT_EQ(simple(!(f < f)), "Not((f < f))");
}

TEST_F(Forms, lets_of_constants_go) {
  const auto v = var("v");
  EXPECT_EQ(simple(make(Let{.value = x - x + 2, .var = v, .body = Expr(v) * y})), "(y * 2)");
  EXPECT_EQ(
      simple(make(Let{.value = floormod(x, 8), .var = v, .body = floordiv(Expr(v) + y * 8, 8)})),
      "y");
}

TEST_F(Forms, calls_with_effects_stay) {
  const Expr call = loopsmith::call(i32, op("call_extern"), {string_imm("f"), x + 0 * y + 1 - 1});
  EXPECT_EQ(simple(call - call), "(call_extern(StringImm(), x) - call_extern(StringImm(), x))");
}

TEST_F(Forms, a_second_binding_to_another_value_is_a_bug) {
  const auto v = var("v");
  analyzer.bind(v, x);
  EXPECT_THROW(analyzer.bind(v, y), InternalError);
  analyzer.bind(v, y, /*override=*/true);
  EXPECT_EQ(simple(Expr(v) + 1), "(y + 1)");
}

TEST_F(Forms, conditions_on_memory_teach_nothing) {
  const auto A = decl_buffer({16}, i32, "A");
  const Expr load = make(BufferLoad{.buffer = A, .indices = {x}});
  const ConstraintScope scope = analyzer.constraint_scope(load < 5 && y < 5);
  EXPECT_TRUE(analyzer.can_prove(y < 6));
  EXPECT_FALSE(analyzer.can_prove(load < 6));
  EXPECT_EQ(simple(select(load < 5, min(load, 7), 0)), simple(select(load < 5, load, 0)));
}

}  // namespace
}  // namespace loopsmith
