// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/analyzer.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

TEST(analyzer, bounds_a_quotient_by_a_product) {
  const Ptr<Var> n = size_var("n"), m = size_var("m"), f = var("f", i64);
  const Expr rows = cast(i64, n), columns = cast(i64, m);
  Analyzer analyzer;
  const Expr row = cast(i64, cast(i32, floordiv(f, columns)));
  EXPECT_NE(analyzer.simplify(row).as<Cast>(), nullptr);
  const auto inside = analyzer.constraint_scope(f >= 0 && f < rows * columns);
  EXPECT_EQ(analyzer.simplify(row).as<Cast>(), nullptr);
}

TEST(analyzer, proves_by_cases_of_a_minimum_or_a_maximum) {
  const Expr h = var("h"), n = size_var("n");
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.can_prove_equal(max(h, 1) - max(1 - h, 0), h));
  EXPECT_TRUE(analyzer.can_prove_equal(max(h, 1) - max(1 - h, 0) - max(h, 214) + 224,
                                       min(0, h - 214) + 224));
  EXPECT_FALSE(analyzer.can_prove_equal(max(h, 1), h));
  EXPECT_TRUE(analyzer.can_prove(min(h, n) + max(h, n) == h + n, ProofStrength::symbolic_bound));
  EXPECT_FALSE(analyzer.can_prove(max(h, n) < n, ProofStrength::symbolic_bound));
}

TEST(analyzer, proves_products_of_sums_equal) {
  const Expr i = var("i"), n = size_var("n"), f = var("f", i64);
  Analyzer analyzer;
  EXPECT_TRUE(analyzer.can_prove_equal((i + 1) * (n + 1) - 1, i * n + i + n));
  EXPECT_FALSE(analyzer.can_prove_equal((i + 1) * (n + 1), i * n + i + n));
  const Expr wide = cast(i64, (i + 1) * (n + 2));
  EXPECT_TRUE(analyzer.can_prove_equal(wide - f, cast(i64, i * n) + cast(i64, i * 2 + n) + 2 - f));
  // What memory holds, and may wrap, is no index.
  Analyzer of_data;
  of_data.mark_data(Ptr<Var>::from(i));
  EXPECT_FALSE(of_data.can_prove_equal(wide - f, cast(i64, i * n) + cast(i64, i * 2 + n) + 2 - f));
}

TEST(analyzer, bounds_no_remainder_by_a_negative_product) {
  const Ptr<Var> m = size_var("m"), z = var("z"), x = var("x");
  Analyzer analyzer;
  analyzer.bind_range(z, int_imm(i32, -5), int_imm(i32, 3));
  // x % (-3 * m) may be 0.
  const Expr quotient = floordiv(floormod(x, z * m), m);
  EXPECT_GE(analyzer.const_int_bound(quotient).max_value, 0);
  EXPECT_FALSE(analyzer.can_prove(quotient < int_imm(i32, 0)));
}

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

TEST(analyzer, a_variable_is_not_what_memory_holds_later) {
  const Ptr<Buffer> memory = decl_buffer({8}, i32, "A");
  const Expr load = make(BufferLoad{.buffer = memory, .indices = {0}});
  const auto name = var("t"), j = var("j");
  Analyzer analyzer;
  analyzer.bind(name, floormod(load, 6) * 4);
  EXPECT_FALSE(analyzer.can_prove(name == floormod(load, 6) * 4));
  EXPECT_TRUE(analyzer.simplify(name + 1).is<Add>());
  EXPECT_EQ(analyzer.const_int_bound(name), (ConstIntBound{0, 20}));
  EXPECT_EQ(analyzer.modular_set(name), (ModularSet{4, 0}));
  analyzer.bind(j, range(0, load));
  EXPECT_FALSE(analyzer.can_prove(j < load));
  EXPECT_EQ(analyzer.const_int_bound(j).min_value, 0);
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

TEST(analyzer, keeps_casts_that_round) {
  const auto n = var("n"), small = var("small", i16);
  Analyzer analyzer;
  const auto there_and_back = [&](const Ptr<Var>& value, DataType by) {
    return analyzer.simplify(cast(value->dtype, cast(by, value)));
  };
  EXPECT_TRUE(there_and_back(n, f32).is<Cast>());
  EXPECT_TRUE(there_and_back(n, i64).same_as(n));
  EXPECT_TRUE(there_and_back(small, i32).same_as(small));
}

TEST(analyzer, knows_the_dividend_of_a_quotient_that_is_bounded) {
  const auto i = var("i"), n = size_var("n");
  Analyzer analyzer;
  analyzer.bind(i, range(0, 100));
  {
    const ConstraintScope scope = analyzer.constraint_scope(i < floordiv(n + 1, 32));
    EXPECT_EQ(analyzer.const_int_bound(n).min_value, 31);
  }
  const ConstraintScope scope = analyzer.constraint_scope(floordiv(n, 8) <= 2);
  EXPECT_EQ(analyzer.const_int_bound(n).max_value, 23);
}

}  // namespace
}  // namespace loopsmith
