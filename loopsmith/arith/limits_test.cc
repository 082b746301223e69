// SPDX-License-Identifier: Apache-2.0
// Expressions of any size: nothing loops, explodes or overflows the stack.
#include <gtest/gtest.h>

#include <random>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

constexpr int depth = 100000;

TEST(limits, deep_sums_simplify) {
  const Expr x = var("x");
  const Expr y = var("y");
  Expr left = x;
  Expr right = x;
  for (int i = 0; i < depth; ++i) {
    left = left + (i % 2 == 0 ? y : Expr(i));
    right = (i % 2 == 0 ? y : Expr(i)) + right;
  }
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.can_prove_equal(left, right));
}

TEST(limits, deep_sums_of_different_terms_simplify) {
  Expr sum = var("x");
  for (int i = 0; i < depth; ++i) sum = sum + var("v") * 3;
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.simplify(sum).defined());
  EXPECT_FALSE(analyzer.can_prove(sum < 7, ProofStrength::symbolic_bound));
}

TEST(limits, deep_conditions_simplify) {
  const Expr x = var("x");
  Expr all = x < 5;
  Expr any = x < 5;
  for (int i = 0; i < depth / 25; ++i) {
    all = all && var("v") + i < x;
    any = any || x == Expr(var("v")) * i;
  }
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.simplify(all).defined());
  EXPECT_TRUE(analyzer.simplify(any).defined());
  const ConstraintScope scope = analyzer.constraint_scope(all);
  EXPECT_TRUE(analyzer.can_prove(x < 6));
}

TEST(limits, deep_choices_and_divisions_simplify) {
  const Expr x = var("x");
  Expr e = x;
  for (int i = 0; i < depth / 10; ++i) {
    e = i % 3 == 0   ? select(Expr(var("p", boolean)), e, x + i)
        : i % 3 == 1 ? floordiv(e + i, 3)
                     : min(e, Expr(var("v")) + i);
  }
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.simplify(e).defined());
  EXPECT_TRUE(analyzer.int_set(e, {{x, IntSet(0, 9)}}).has_upper_bound());
}

TEST(limits, shared_operands_are_done_once) {
  Expr e = var("x");
  Expr narrow = var("y", u8);
  for (int i = 0; i < 200; ++i) {
    e = min(e, e + 1) + max(e, floordiv(e, 3));
    narrow = narrow * narrow + narrow;
  }
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.simplify(e).defined());
  EXPECT_TRUE(analyzer.simplify(narrow).defined());
}

TEST(limits, shared_choices_are_not_done_once_for_each_path) {
  const Expr x = var("x");
  Expr e = x;
  for (int i = 0; i < 1000; ++i) {
    e = i % 2 == 0 ? select(e > i, e, x + i) : if_then_else(e > i && e < x, x - e, e);
  }
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.simplify(e).defined());
  EXPECT_TRUE(analyzer.rewrite_simplify(e).defined());
}

TEST(limits, numbers_at_the_ends_of_their_type_do_not_overflow) {
  const Expr x = var("x", i64);
  const Expr largest = int_imm(i64, std::numeric_limits<std::int64_t>::max());
  const Expr smallest = int_imm(i64, std::numeric_limits<std::int64_t>::min());
  Analyzer analyzer;
  for (const Expr& c : {largest, smallest}) {
    for (const Expr& e : {(x + c) + c, (x * c) * c, (x - c) - c, floordiv(x * c, c), floormod(x, c),
                          truncdiv(x, c), min(x + c, c), floordiv(floordiv(x, c), c)}) {
      EXPECT_TRUE(analyzer.simplify(e).defined());
      EXPECT_TRUE(analyzer.simplify(e < c).defined());
      EXPECT_TRUE(analyzer.simplify(c == e).defined());
    }
  }
}

TEST(limits, terms_are_forgotten_and_facts_are_kept) {
  const auto x = var("x");
  const Expr n = size_var("n");
  Analyzer analyzer;
  analyzer.bind(x, range(0, n));
  std::mt19937 random(3);
  const ConstraintScope scope = analyzer.constraint_scope(n <= 100);
  for (int i = 0; i < 60000; ++i) {
    const int c = static_cast<int>(random() % 1000000);
    analyzer.simplify(floordiv(Expr(x) * 64 + c, 8) + c);
  }
  EXPECT_TRUE(analyzer.can_prove(Expr(x) < n));
  EXPECT_TRUE(analyzer.can_prove(Expr(x) < 100));
  EXPECT_FALSE(analyzer.can_prove(Expr(x) < 99));
}

}  // namespace
}  // namespace loopsmith
