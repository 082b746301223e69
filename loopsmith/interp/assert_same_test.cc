// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/assert_same.h"

#include <gtest/gtest.h>

#include <cmath>

#include "loopsmith/interp/ring.h"
#include "loopsmith/interp/testing/call.h"

namespace loopsmith::interp {
namespace {

using testing::function;

Expr f(double value) {
  return float_imm(f32, value);
}

/// S[0] = the sum of A, from the front or from the back.
Ptr<PrimFunc> sum(const Expr& n, bool backwards, const Expr& start = f(0)) {
  const auto a = decl_buffer({n}, f32, "A"), s = decl_buffer({1}, f32, "S");
  const auto i = var("i");
  const Expr at = backwards ? n - 1 - i : Expr(i);
  return function({a, s}, seq({store(s, start, {0}),
                               for_loop(i, 0, n, store(s, load(s, {0}) + load(a, {at}), {0}))}));
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.problem();
  }
  return {};
}

TEST(assert_same, the_order_of_a_sum_does_not_matter) {
  EXPECT_EQ(compare(sum(10, false), sum(10, true)).answer, Answer::same);
  EXPECT_FALSE(compare(sum(10, false), sum(10, true)).by_structure);
  EXPECT_TRUE(compare(sum(10, false), sum(10, false)).by_structure);
}

TEST(assert_same, sizes_are_drawn) {
  EXPECT_TRUE(compare(sum(size_var("n"), false), sum(size_var("m"), true)));
}

TEST(assert_same, sizes_may_be_none) {
  const auto n = size_var("n");
  const auto a = decl_buffer({n}, f32, "A"), b = decl_buffer({1}, f32, "B");
  const Stmt fill = store(b, f(1), {0});
  const Stmt fill_for_some = make(IfThenElse{.condition = n > 0, .then_case = fill});
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const Verdict verdict =
        compare(function({a, b}, fill), function({a, b}, fill_for_some), {.seed = seed});
    found += verdict.answer == Answer::different ? 1 : 0;
  }
  EXPECT_GT(found, 4);
}

TEST(assert_same, names_the_first_difference) {
  const Verdict verdict = compare(sum(10, false), sum(10, true, f(0x1p-60)));
  EXPECT_EQ(verdict.answer, Answer::different);
  EXPECT_EQ(verdict.buffer, "S");
  EXPECT_EQ(verdict.index, std::vector<std::int64_t>{0});
  const std::string error = error_of([] { assert_same(sum(10, false), sum(10, true, f(1))); });
  EXPECT_TRUE(error.starts_with("assert_same: the programs differ: S[0] is ")) << error;
}

TEST(assert_same, an_input_that_is_written_counts) {
  const auto a = decl_buffer({2, 3}, i8, "A");
  const auto func = [&](const Expr& at) {
    return function({a}, store(a, int_imm(i8, 1), {1, at}));
  };
  const Verdict verdict = compare(func(1), func(2));
  EXPECT_EQ(verdict.answer, Answer::different);
  EXPECT_EQ(verdict.index, (std::vector<std::int64_t>{1, 1}));
}

TEST(assert_same, a_program_that_may_not_run_is_different) {
  const auto a = decl_buffer({8}, f32, "A");
  const auto i = var("i");
  const auto fill = [&](int count) {
    return function({a}, for_loop(i, 0, count, store(a, f(1), {i})));
  };
  EXPECT_EQ(compare(fill(8), fill(9)).reason,
            "after: store to A: index 8 of dimension 0 is outside [0, 8)");
  const Verdict verdict = compare(fill(9), fill(8));
  EXPECT_EQ(verdict.answer, Answer::undecided);
  EXPECT_EQ(error_of([&] { assert_same(fill(9), fill(8)); }),
            "assert_same: undecided: before: store to A: index 8 of dimension 0 is outside [0, 8)");
}

TEST(assert_same, what_is_too_large_is_undecided) {
  EXPECT_EQ(compare(sum(5000, false), sum(5000, true), {.max_statements = 1000}).reason,
            "before: main runs more than 1000 statements");
}

TEST(assert_same, what_repeats_much_of_little_is_run_to_its_end) {
  const auto a = decl_buffer({1}, f32, "A");
  const auto i = var("i");
  const auto repeated = [&](int count) {
    return function({a}, for_loop(i, 0, count, store(a, f(1), {0})));
  };
  EXPECT_EQ(compare(repeated(1), repeated(1'200'000)).answer, Answer::same);
  EXPECT_EQ(compare(repeated(1), repeated(1'200'000), {.max_statements = 1'000'000}).reason,
            "after: main runs more than 1000120 statements");
}

TEST(assert_same, parameters_have_to_agree) {
  const auto a = decl_buffer({2}, f32, "A"), b = decl_buffer({2}, f64, "A");
  const auto first = function({a}, store(a, f(1), {0}));
  const auto second = function({b}, store(b, float_imm(f64, 1), {0}));
  EXPECT_EQ(error_of([&] { compare(first, second); }),
            "main and main cannot be compared: parameter A_handle is a tensor of float32 with 1 "
            "dimensions and a tensor of float64 with 1 dimensions");
  EXPECT_EQ(error_of([&] { compare(first, function({a, b}, no_op())); }),
            "main and main cannot be compared: they take 1 and 2 arguments");
}

TEST(assert_same, integers_that_are_indices_are_drawn_in_bounds) {
  const auto a = decl_buffer({9}, f32, "A"), b = decl_buffer({9}, f32, "B");
  const auto index = decl_buffer({9}, i32, "index");
  const auto i = var("i");
  const auto gather = [&](const Expr& at) {
    return function({a, index, b}, for_loop(i, 0, 9, store(b, load(a, {load(index, {at})}), {at})));
  };
  EXPECT_TRUE(compare(gather(i), gather(8 - Expr(i))));
}

TEST(assert_same, functions_of_modules_are_compared_by_name) {
  const auto module = [](bool backwards) -> Ptr<IRModule> {
    return make(
        IRModule{.names = {make(GlobalVar{.name_hint = "sum"})}, .functions = {sum(7, backwards)}});
  };
  EXPECT_TRUE(compare(module(false), module(true)));
  const Ptr<IRModule> empty = make(IRModule{});
  EXPECT_EQ(error_of([&] { compare(module(false), empty); }),
            "the second module has no function sum");
}

TEST(ring, is_a_field) {
  for (const double x : {1.0, -3.0, 0.1, 1e300, 0x1p-1074, 7.25}) {
    const std::uint64_t element = ring::from_double(f64, x);
    EXPECT_EQ(ring::multiply(element, ring::inverse(element)), 1U) << x;
    EXPECT_EQ(ring::add(element, ring::from_double(f64, -x)), 0U) << x;
  }
  EXPECT_EQ(ring::from_double(f32, 0.75), ring::multiply(3, ring::inverse(4)));
  EXPECT_EQ(ring::from_double(f32, 6), ring::from_int(6));
  EXPECT_EQ(ring::from_int(INT64_MIN), ring::negate(ring::reduce(std::uint64_t{1} << 63)));
  EXPECT_EQ(ring::ordered(ring::from_int(-5)), -5);
}

TEST(ring, extremes_start_from_the_ends) {
  EXPECT_EQ(ring::ordered(ring::from_double(f32, max_float(f32))), std::int64_t{ring::prime / 2});
  EXPECT_EQ(ring::ordered(ring::from_double(f16, -INFINITY)), -std::int64_t{ring::prime / 2});
}

}  // namespace
}  // namespace loopsmith::interp
