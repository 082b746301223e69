// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/int_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/deduce_bound.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::show;

struct Names {
  Expr a = var("a"), b = var("b"), c = var("c"), x = var("x"), y = var("y"), n = size_var("n");
};
Ptr<Var> var_of(const Expr& e) {
  return Ptr<Var>::from(e);
}
std::string show_set(const IntSet& set) {
  if (set.is_nothing()) return "nothing";
  const auto end = [](const Expr& e) { return e.defined() ? show(e) : std::string("open"); };
  return fmt::format("[{}, {}]", end(set.min_value()), end(set.max_value()));
}
std::string show_all(const std::vector<Expr>& list) {
  std::string result;
  for (const Expr& e : list) result += show(e) + "; ";
  return result;
}

TEST(int_set, follows_a_variable_through_arithmetic) {
  const Names v;
  Analyzer analyzer;
  const Domains domains{{v.x, IntSet(0, v.n - 1)}};
  EXPECT_EQ(show_set(analyzer.int_set(v.x * 2 + v.y, domains)), "[y, ((y + (n * 2)) - 2)]");
  EXPECT_EQ(show_set(analyzer.int_set(v.y - v.x, domains)), "[((y - n) + 1), y]");
  EXPECT_EQ(show_set(analyzer.int_set(floordiv(v.x, 4), domains)), "[0, ((n - 1) // 4)]");
  EXPECT_EQ(show_set(analyzer.int_set(floormod(v.x, 4), domains)), "[0, 3]");
  EXPECT_EQ(show_set(analyzer.int_set(min(v.x, 7), domains)), "[0, (Min(n, 8) - 1)]");
  EXPECT_EQ(show_set(analyzer.int_set(v.y * 3, domains)), "[(y * 3), (y * 3)]");
}

TEST(int_set, keeps_a_remainder_that_stays_within_one_period) {
  const Names v;
  Analyzer analyzer;
  const Domains domains{{v.x, IntSet(9, 14)}};
  EXPECT_EQ(show_set(analyzer.int_set(floormod(v.x, 8), domains)), "[1, 6]");
}

TEST(int_set, takes_ends_that_mention_other_variables) {
  const Names v;
  Analyzer analyzer;
  const Domains domains{{v.x, IntSet(0, v.y)}, {v.y, IntSet(0, 9)}};
  EXPECT_EQ(show_set(analyzer.int_set(v.x, domains)), "[0, 9]");
}

TEST(int_set, joins_and_meets) {
  const Names v;
  EXPECT_EQ(show_set(unite(IntSet(0, 3), IntSet(2, 9))), "[0, 9]");
  EXPECT_EQ(show_set(intersect(IntSet(0, 3), IntSet(2, 9))), "[2, 3]");
  EXPECT_TRUE(intersect(IntSet(0, 3), IntSet(5, 9)).is_nothing());
  EXPECT_EQ(show_set(intersect(IntSet(), IntSet(0, v.n))), "[0, n]");
}

TEST(analyzer, proves_by_symbolic_ranges) {
  const Names v;
  Analyzer analyzer;
  analyzer.bind(var_of(v.x), range(0, v.n));
  analyzer.bind(var_of(v.y), range(0, 32));
  EXPECT_TRUE(analyzer.can_prove(v.x * 32 + v.y < v.n * 32, ProofStrength::symbolic_bound));
  EXPECT_FALSE(analyzer.can_prove(v.x * 32 + v.y < v.n * 32 - 1, ProofStrength::symbolic_bound));
}

TEST(analyzer, proves_by_ranges_with_minima_and_maxima) {
  const Names v;
  Analyzer analyzer;
  analyzer.bind_range(var_of(v.x), max(v.c, 1) - 1, v.n);
  EXPECT_TRUE(analyzer.can_prove(v.c <= v.x + 1, ProofStrength::symbolic_bound));
  EXPECT_FALSE(analyzer.can_prove(v.c <= v.x, ProofStrength::symbolic_bound));
}

TEST(linear, gives_coefficients_and_base) {
  const Names v;
  const std::vector<Ptr<Var>> vars{var_of(v.a), var_of(v.b)};
  EXPECT_EQ(show_all(detect_linear_equation(v.a * 3 + v.b * v.c - 7, vars)), "3; c; -7; ");
  EXPECT_EQ(show_all(detect_linear_equation(v.c, vars)), "0; 0; c; ");
  EXPECT_EQ(show_all(detect_linear_equation(v.a * 4 + v.c, {})), "((a * 4) + c); ");
  EXPECT_TRUE(detect_linear_equation(v.a * v.a, vars).empty());
  EXPECT_TRUE(detect_linear_equation(v.a * v.b, vars).empty());
  EXPECT_TRUE(detect_linear_equation(floordiv(v.a, 2), vars).empty());
}

TEST(linear, gives_the_limits_that_a_condition_sets) {
  const Names v;
  const std::vector<Ptr<Var>> vars{var_of(v.a), var_of(v.b)};
  EXPECT_EQ(show_all(detect_clip_bound(v.a >= 2 && v.a + v.c < 10 && v.b == v.n, vars)),
            "2; (9 - c); n; n; ");
  EXPECT_EQ(show_all(detect_clip_bound(Expr(3) > v.a, vars)), "null; 2; null; null; ");
  EXPECT_TRUE(detect_clip_bound(v.a + v.b < 3, vars).empty());
  EXPECT_TRUE(detect_clip_bound(v.a * 2 < 3, vars).empty());
  EXPECT_TRUE(detect_clip_bound(v.a < 3 || v.b < 3, vars).empty());
}

TEST(deduce_bound, solves_one_comparison) {
  const Names v;
  const auto a = var_of(v.a);
  EXPECT_EQ(show_set(deduce_bound(a, v.a * 4 + v.b < v.c, {}, {})), "[open, (((c - b) - 1) // 4)]");
  EXPECT_EQ(show_set(deduce_bound(a, v.c <= v.b - v.a, {}, {})), "[open, (b - c)]");
  EXPECT_EQ(show_set(deduce_bound(a, v.a * 5 == -10, {}, {})), "[-2, -2]");
  EXPECT_EQ(show_set(deduce_bound(a, v.a * 5 == 11, {}, {})), "nothing");
  EXPECT_EQ(show_set(deduce_bound(a, v.a * 4 == v.b, {}, {})), "nothing");
  EXPECT_EQ(show_set(deduce_bound(a, floordiv(v.a, 4) <= 2, {}, {})), "[open, 11]");
  EXPECT_EQ(show_set(deduce_bound(a, v.a * -2 > 5, {}, {})), "[open, -3]");
  EXPECT_EQ(show_set(deduce_bound(a, v.a + v.a > 5, {}, {})), "nothing");
}

TEST(deduce_bound, serves_for_all_relaxed_values) {
  const Names v;
  const auto a = var_of(v.a);
  const Domains relaxed{{v.b, IntSet(0, 3)}};
  EXPECT_EQ(show_set(deduce_bound(a, v.a + v.b < 10, {}, relaxed)), "[open, 6]");
  EXPECT_EQ(show_set(deduce_bound(a, v.a + v.b >= 10, {}, relaxed)), "[10, open]");
}

TEST(deduce_bound, takes_the_sign_of_a_factor_from_its_hint) {
  const Names v;
  const auto a = var_of(v.a);
  EXPECT_TRUE(deduce_bound(a, v.a * v.c < 10, {}, {}).is_nothing());
  const Domains hints{{v.c, IntSet(1, 8)}};
  EXPECT_EQ(show_set(deduce_bound(a, v.a * v.c < 10, hints, {})), "[open, (9 // c)]");
}

}  // namespace
}  // namespace loopsmith
