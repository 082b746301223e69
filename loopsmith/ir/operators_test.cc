// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/operators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace operators_test {

using testing::refusal;

const Expr x = var("x"), f = var("f", f32);

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

TEST(operators, fold_small_integers_as_arithmetic_has_it) {
  const DataType types[] = {i8, u8, i16, i32, i64, u32, u64};
  for (const DataType type : types) {
    for (int a = type.is_uint() ? 0 : -9; a <= 9; ++a) {
      for (int b = type.is_uint() ? 0 : -9; b <= 9; ++b) {
        const Expr p = int_imm(type, a), q = int_imm(type, b);
        const auto is = [&](const Expr& e, std::int64_t value) {
          const std::int64_t* folded = as_int(e);
          ASSERT_NE(folded, nullptr) << to_string(type) << ' ' << a << ' ' << b;
          EXPECT_EQ(*folded, e.dtype().is_bool() ? value : wrap_to(type, value))
              << to_string(type) << ' ' << a << ' ' << b;
        };
        is(p + q, a + b);
        is(p * q, a * b);
        is(p < q, a < b);
        is(p <= q, a <= b);
        is(p > q, a > b);
        is(p >= q, a >= b);
        is(p == q, a == b);
        is(p != q, a != b);
        is(min(p, q), std::min(a, b));
        is(max(p, q), std::max(a, b));
        if (!type.is_uint() || a >= b || type.bits < 32) is(p - q, a - b);
        if (b != 0) {
          is(truncdiv(p, q), a / b);
          is(truncmod(p, q), a % b);
          is(floordiv(p, q), floor_div(a, b));
          is(floormod(p, q), a - floor_div(a, b) * b);
        }
        is(p & q, a & b);
        is(p | q, a | b);
        is(p ^ q, a ^ b);
        if (b >= 0 && b < 7 && type.bits >= 16) {
          is(p << q, a * (1 << b));
          is(p >> q, a >> b);
        }
      }
    }
  }
}

TEST(operators, overflow_wraps_in_narrow_types_and_stays_in_indices) {
  EXPECT_EQ(*as_int(int_imm(i8, 127) + int_imm(i8, 1)), -128);
  EXPECT_EQ(*as_int(int_imm(u8, 0) - int_imm(u8, 1)), 255);
  EXPECT_EQ(*as_int(int_imm(u64, 0) - int_imm(u64, 1)), -1);
  EXPECT_EQ(*as_int(truncdiv(int_imm(i8, -128), int_imm(i8, -1))), -128);
  const Expr largest = max_value(i32), smallest = min_value(i64);
  EXPECT_TRUE((largest + 1).is<Add>());
  EXPECT_TRUE((largest * 2).is<Mul>());
  EXPECT_TRUE((smallest - int_imm(i64, 1)).is<Sub>());
  EXPECT_TRUE(truncdiv(min_value(i32), -1).is<Div>());
  EXPECT_TRUE(
      (int_imm(i64, std::int64_t{1} << 62) * int_imm(i64, std::int64_t{1} << 62)).is<Mul>());
  // A uint64 is not negative.
  EXPECT_EQ(*as_int(max_value(u64) > int_imm(u64, 1)), 1);
  EXPECT_EQ(*as_int(floordiv(max_value(u64), int_imm(u64, 2))),
            std::numeric_limits<std::int64_t>::max());
}

TEST(operators, fold_floats_in_their_own_type) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> values(-100, 100);
  for (int round = 0; round < 1000; ++round) {
    const float a = values(random), b = values(random);
    const Expr p = float_imm(f32, a), q = float_imm(f32, b);
    EXPECT_EQ(*as_float(p + q), a + b);
    EXPECT_EQ(*as_float(p - q), a - b);
    EXPECT_EQ(*as_float(p * q), a * b);
    EXPECT_EQ(*as_float(p / q), a / b);
    EXPECT_EQ(*as_int(p < q), a < b);
    const Expr half = float_imm(f16, a) + float_imm(f16, b);
    EXPECT_EQ(*as_float(half), round_to(f16, static_cast<float>(round_to(f16, a)) +
                                                 static_cast<float>(round_to(f16, b))));
  }
  EXPECT_TRUE((float_imm(f32, 1) / float_imm(f32, 0)).is<Div>());
  EXPECT_TRUE((max_value(f32) * float_imm(f32, 2)).is<Mul>());
}

TEST(operators, identities_that_hold_for_all_values_are_taken) {
  const Expr zero = float_imm(f32, 0), one = float_imm(f32, 1);
  EXPECT_TRUE((x + 0).same_as(x));
  EXPECT_TRUE((0 + x).same_as(x));
  EXPECT_TRUE((x - 0).same_as(x));
  EXPECT_TRUE((x * 1).same_as(x));
  EXPECT_TRUE(is_const_int(x * 0, 0));
  EXPECT_TRUE(floordiv(x, 1).same_as(x));
  EXPECT_TRUE(is_const_int(floormod(x, 1), 0));
  EXPECT_TRUE(is_const_int(floordiv(0, x), 0));
  EXPECT_TRUE(min(x, x).same_as(x));
  // Not for floats, where the sign of zero, infinities and NaN matter.
  EXPECT_TRUE((f + zero).is<Add>());
  EXPECT_TRUE((f * zero).is<Mul>());
  EXPECT_TRUE((f - zero).same_as(f));
  EXPECT_TRUE((f - float_imm(f32, -0.0)).is<Sub>());
  EXPECT_TRUE((f * one).same_as(f));
  EXPECT_TRUE((f / one).same_as(f));
  EXPECT_TRUE((-f).is<Mul>());
  EXPECT_EQ(std::signbit(*as_float(-zero)), true);
}

TEST(operators, logic_folds_and_keeps_lanes) {
  const Expr c = x < 1;
  EXPECT_TRUE((c && true).same_as(c));
  EXPECT_TRUE(is_const_int(c && false, 0));
  EXPECT_TRUE((false || c).same_as(c));
  EXPECT_TRUE(is_const_int(c || true, 1));
  EXPECT_TRUE(is_const_int(!Expr(false), 1));
  EXPECT_EQ((!broadcast(Expr(true), 4)).dtype(), boolean.with_lanes(4));
  EXPECT_TRUE(select(true, x, 3).same_as(x));
  EXPECT_TRUE(is_const_int(if_then_else(false, x, 3), 3));
  EXPECT_TRUE((c & c).is<And>());
  EXPECT_TRUE((c ^ c).is<NE>());
}

TEST(operators, convert_operands_to_one_type) {
  const auto common = [](DataType a, DataType b) { return (var("a", a) + var("b", b)).dtype(); };
  EXPECT_EQ(common(i32, i64), i64);
  EXPECT_EQ(common(u8, i8), u8);
  EXPECT_EQ(common(u8, i32), i32);
  EXPECT_EQ(common(i64, f16), f16);
  EXPECT_EQ(common(f16, f32), f32);
  EXPECT_EQ(common(bf16, f16), f32);
  EXPECT_EQ(common(bf16, i32), bf16);
  EXPECT_EQ(common(f8e4m3, f8e5m2), f32);
  EXPECT_EQ(common(i32, f32.with_lanes(4)), f32.with_lanes(4));
  EXPECT_EQ(fmt::format("{}", broadcast(x, 4) + 1), "T.Broadcast(x, 4) + T.Broadcast(1, 4)");
}

TEST(operators, cast_folds_constants) {
  EXPECT_EQ(*as_int(cast(u8, -1)), 255);
  EXPECT_EQ(*as_int(cast(i8, 200)), -56);
  EXPECT_EQ(*as_float(cast(f32, 16777217)), 16777216);
  // Rounded once: through float64 it would be 2^60 + 2^37.
  const std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  EXPECT_EQ(*as_float(cast(f32, int_imm(i64, tie))), static_cast<double>(static_cast<float>(tie)));
  EXPECT_EQ(*as_float(cast(f16, 3)), 3);
  EXPECT_EQ(*as_int(cast(i32, float_imm(f32, -2.75))), -2);
  EXPECT_TRUE(cast(i8, float_imm(f32, 1e9)).is<Cast>());
  EXPECT_TRUE(cast(i32, infinity(f32)).is<Cast>());
  EXPECT_TRUE(cast(i32, x).same_as(x));
  EXPECT_TRUE(is_const_int(cast(boolean, 5), 1));
  EXPECT_EQ(cast(f32.with_lanes(4), x).dtype(), f32.with_lanes(4));
}

TEST(operators, limits_of_types) {
  EXPECT_EQ(*as_float(min_value(f32)), -std::numeric_limits<float>::max());
  EXPECT_EQ(*as_float(max_value(f8e4m3)), 448);
  EXPECT_EQ(*as_int(max_value(u64)), -1);
  EXPECT_EQ(*as_int(min_value(i8.with_lanes(4))), -128);
  EXPECT_EQ(*as_float(infinity(f64)), std::numeric_limits<double>::infinity());
}

TEST(operators, fold_says_what_the_operator_would_do) {
  const Expr nodes[] = {
      make(Add{.a = x, .b = 0}),  make(FloorDiv{.a = 7, .b = 2}), make(And{.a = x < 1, .b = true}),
      make(Not{.a = Expr(true)}), make(GT{.a = 2, .b = 1}),       make(Max{.a = x, .b = x}),
  };
  for (const Expr& node : nodes) EXPECT_TRUE(fold(node).defined()) << fmt::format("{}", node);
  EXPECT_FALSE(fold(make(Add{.a = x, .b = 1})).defined());
  EXPECT_FALSE(fold(x).defined());
}

TEST(operators, mistakes_are_refused_by_what_is_wrong) {
  const struct {
    std::function<void()> build;
    const char* refusal;
  } mistakes[] = {
      {[] { x + Expr(); }, "operand_is_missing: operator: an operand is missing"},
      {[] { x + string_imm("a"); },
       "operands_are_numbers: operator: an operand is handle, not a number"},
      {[] { broadcast(x, 2) + broadcast(x, 3); },
       "operands_have_equal_lanes: operator: vectors of 2 and 3 lanes"},
      {[] { x / 2; }, "division_is_ambiguous: /: division of int32 by int32 may round in two ways"},
      {[] { floordiv(x, 0); }, "divisor_is_not_zero: floordiv: divide by zero"},
      {[] { truncmod(Expr(7), 0); }, "divisor_is_not_zero: truncmod: divide by zero"},
      {[] { fold(make(FloorMod{.a = x, .b = 0})); },
       "divisor_is_not_zero: floormod: divide by zero"},
      {[] { floordiv(f, f); },
       "operands_are_integers: floordiv: the operands are float32, not integers"},
      {[] { f & f; }, "operands_are_integers: bitwise_and: the operands are float32, not integers"},
      {[] { ~f; }, "operands_are_integers: bitwise_not: the operands are float32, not integers"},
      {[] { if_then_else(x, x, x); },
       "condition_is_bool: if_then_else: the condition is int32, not bool"},
      {[] { reinterpret(i64, f); },
       "reinterpret_keeps_bits: reinterpret: float32 as int64 changes the number of bits"},
  };
  for (const auto& mistake : mistakes) EXPECT_EQ(refusal(mistake.build), mistake.refusal);
}

}  // namespace operators_test
}  // namespace loopsmith
