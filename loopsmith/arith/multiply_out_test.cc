// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/multiply_out.h"

#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

TEST(multiply_out, makes_sums_of_products) {
  const Ptr<Var> i = var("i"), n = var("n"), j = var("j");
  const auto difference = [](const Expr& a, const Expr& b) {
    return Analyzer().simplify(multiply_out(a - b));
  };
  EXPECT_TRUE(is_const_int(difference((i + 1) * (n + 1) + j, i * (n + 1) + j + n), 1));
  EXPECT_TRUE(is_const_int(difference((i - 2) * (n - j), i * n - i * j + j * 2 - n * 2), 0));
  const auto wide = [](const Expr& e) { return cast(i64, e); };
  EXPECT_TRUE(
      is_const_int(difference(wide(i + 1) * (wide(n) + 1), wide(i) * (wide(n) + 1) + wide(n)), 1));
}

TEST(multiply_out, leaves_what_would_be_many_terms) {
  const Ptr<Var> i = var("i"), n = var("n");
  Expr power = i + n;
  for (int k = 0; k < 6; ++k) power = power * (i + n);
  EXPECT_TRUE(structural_equal(multiply_out(power), power));
}

}  // namespace
}  // namespace loopsmith
