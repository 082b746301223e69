// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/analyzer.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

TEST(analyzer, simplifies_an_index_of_a_split_loop) {
  const auto io = var("io"), ii = var("ii");
  Analyzer analyzer;
  analyzer.bind(io, range(0, 8));
  analyzer.bind(ii, range(0, 32));
  EXPECT_TRUE(analyzer.simplify(floordiv(io * 32 + ii, 32)).same_as(io));
  EXPECT_TRUE(analyzer.simplify(floormod(io * 32 + ii, 32)).same_as(ii));
}

TEST(analyzer, proves_bounds_of_a_split_loop) {
  const auto io = var("io"), ii = var("ii");
  Analyzer analyzer;
  analyzer.bind(io, range(0, 8));
  analyzer.bind(ii, range(0, 32));
  EXPECT_TRUE(analyzer.can_prove(io * 32 + ii < 256));
  EXPECT_FALSE(analyzer.can_prove(io * 32 + ii < 255));
  EXPECT_EQ(analyzer.const_int_bound(io * 32 + ii), (ConstIntBound{0, 255}));
  EXPECT_EQ(analyzer.modular_set(io * 32 + 5), (ModularSet{32, 5}));
}

TEST(analyzer, knows_the_condition_of_a_scope) {
  const auto i = var("i"), n = size_var("n");
  Analyzer analyzer;
  analyzer.bind(i, range(0, n));
  EXPECT_TRUE(analyzer.can_prove(i < n));
  EXPECT_FALSE(analyzer.can_prove(i < 10));
  {
    const ConstraintScope scope = analyzer.constraint_scope(n <= 10);
    EXPECT_TRUE(analyzer.can_prove(i < 10));
  }
  EXPECT_FALSE(analyzer.can_prove(i < 10));
}

}  // namespace
}  // namespace loopsmith
