// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::show;
using enum IterMapLevel;

/// Iterators x, y, z and sizes c, c0, c1, and what detection makes of indices over them.
class IterMap : public ::testing::Test {
 protected:
  /// "extent 12, scale 2, base 1" of each index, or the error.
  std::string detect(std::vector<Iterator> iterators, std::vector<Expr> indices,
                     IterMapLevel level = surjective, const Expr& predicate = nullptr) {
    const IterMapResult result =
        detect_iter_map(indices, iterators, {.predicate = predicate, .level = level}, analyzer);
    padding = show(result.padding_predicate);
    if (!result.ok()) return result.errors.at(0);
    std::string text;
    for (const IterSumExpr& index : result.indices) {
      text += text.empty() ? "" : "; ";
      text += index.args.empty() ? "none" : show(index.args[0].extent.expr(i32));
      if (!index.args.empty() && !index.args[0].scale.is(1)) {
        text += " * " + show(index.args[0].scale.expr(i32));
      }
      if (!index.base.is(0)) text += " from " + show(index.base.expr(i32));
    }
    return text;
  }

  std::string simplified(std::vector<Iterator> iterators, const Expr& index,
                         const Expr& predicate = nullptr) {
    return show(
        iter_map_simplify(std::vector{index}, iterators, {.predicate = predicate}, analyzer)[0]);
  }

  static Iterator runs(const Ptr<Var>& var, const Expr& extent, const Expr& min = 0) {
    return {var, min, extent};
  }

  Ptr<Var> x = var("x"), y = var("y"), z = var("z");
  Ptr<Var> c = size_var("c"), c0 = size_var("c0"), c1 = size_var("c1");
  Analyzer analyzer;
  std::string padding;
  const std::string dependent = "Mapped indices are not independent.";
  const std::string no_bijection = "Index mapping does not form a bijective transform.";
  const std::string holes = "Fuse iters failed: the digits leave holes, or overlap.";
};

TEST_F(IterMap, plain_iterators_are_independent) {
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4)}, {x, y}, bijective), "3; 4");
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4), runs(z, 1)}, {x, z}, bijective), no_bijection);
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4), runs(z, 1)}, {x, z}), "3; none");
  EXPECT_EQ(detect({runs(x, 3)}, {x, x}), dependent);
  EXPECT_EQ(detect({runs(x, 3)}, {x, x}, bijective), dependent);
  EXPECT_EQ(detect({runs(x, 3)}, {x, x}, no_check), "3; 3");
  EXPECT_EQ(detect({runs(x, 5, 2)}, {x}, bijective), "5 from 2");
}

TEST_F(IterMap, sums_fuse_where_they_leave_no_holes) {
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4)}, {y * 3 + x + c + 1}), "12 from (c + 1)");
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4)}, {y * 4 + x}), holes);
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4)}, {y * 2 + x}), "9");
  EXPECT_EQ(detect({runs(x, 3), runs(y, 4)}, {y * 2 + x}, bijective), holes);
  EXPECT_EQ(detect({runs(x, 3), runs(y, 2)}, {x * 4 + y * 2}), "6 * 2");
  EXPECT_EQ(detect({runs(x, 3), runs(y, c)}, {x * c + y}), "(c * 3)");
  EXPECT_EQ(detect({runs(x, 3)}, {0 - x}), "Fuse iters failed: a scale is negative.");
  EXPECT_EQ(detect({runs(x, 3), runs(y, 3)}, {x * y}),
            "Product of two iterators cannot be represented as an IterMap.");
}

TEST_F(IterMap, divisions_split_digits) {
  EXPECT_EQ(detect({runs(x, 64)}, {floordiv(x, 8), floormod(x, 8)}, bijective), "8; 8");
  EXPECT_EQ(detect({runs(x, 24)}, {floordiv(x, 6), floordiv(floormod(x, 6), 2), floormod(x, 2)},
                   bijective),
            "4; 3; 2");
  EXPECT_EQ(detect({runs(x, 8)}, {floordiv(x * 2, 4), floormod(x * 2, 4)}), "4; 2 * 2");
  EXPECT_EQ(detect({runs(x, c0 * c1)}, {floordiv(x, c0), floormod(x, c0)}, bijective), "c1; c0");
  EXPECT_EQ(detect({runs(x, 64)}, {floordiv(x, 16)}), "4");
  EXPECT_EQ(detect({runs(x, 64)}, {floordiv(x, 16)}, bijective), no_bijection);
  EXPECT_EQ(detect({runs(x, 64)}, {floordiv(x, 8), floormod(x, 16)}), dependent);
  const Ptr<Var> f0 = x;
  const Ptr<Var> f1 = y;
  EXPECT_EQ(detect({runs(f0, 4), runs(f1, 32)},
                   {floordiv(f0 * 32 + f1, 64), floormod(f0 * 32 + f1, 64)}, bijective),
            "2; 64");
  const Expr unknown = var("n");
  EXPECT_EQ(detect({runs(x, 8)}, {floordiv(x, unknown)}), "A divisor is not known to be positive.");
}

TEST_F(IterMap, conversions_keep_what_fits) {
  const Ptr<Var> wide = var("wide", i64);
  const Expr digits[] = {floordiv(wide, 7), floormod(wide, 7)};
  EXPECT_EQ(detect({runs(wide, int_imm(i64, 49))}, {cast(i32, digits[0]), cast(i32, digits[1])},
                   bijective),
            "7; 7");
  const Expr far = wide * int_imm(i64, 1 << 30);
  EXPECT_EQ(detect({runs(wide, int_imm(i64, 2))}, {cast(i32, far)}), "2 * 1073741824");
  EXPECT_EQ(detect({runs(wide, int_imm(i64, 3))}, {cast(i32, far)}),
            "An operation on iterators is none of + - * // %.");
}

TEST_F(IterMap, extents_are_padded_where_a_divisor_does_not_divide) {
  EXPECT_EQ(detect({runs(x, 20)}, {floordiv(x, 7)}), "3");
  EXPECT_EQ(padding, "(((x // 7) == 2) and ((x % 7) == 6))");
  EXPECT_EQ(detect({runs(x, 20)}, {floordiv(x, 7), floormod(x, 7)}, bijective),
            "The iterations do not traverse full iter space");
  EXPECT_EQ(detect({runs(x, 10)}, {floordiv(x + 1, 4), floormod(x + 1, 4)}), "3; 4");
  EXPECT_EQ(padding,
            "(((((x + 1) // 4) == 0) and (((x + 1) % 4) < 1)) or "
            "((((x + 1) // 4) == 2) and (((x + 1) % 4) == 3)))");
  EXPECT_EQ(detect({runs(x, c)}, {floordiv(x, 16), floormod(x, 16)}), "((c + 15) // 16); 16");
  EXPECT_EQ(detect({runs(x, 24)}, {floordiv(x, 8), floormod(x, 8)}), "3; 8");
  EXPECT_EQ(padding, "0");
}

TEST_F(IterMap, constraints_narrow_digits) {
  const std::vector<Iterator> ten{runs(x, 13), runs(y, 10)};
  const Expr fused = x * 10 + y;
  EXPECT_EQ(detect(ten, {fused}, surjective, fused < 128), "128");
  EXPECT_EQ(detect(ten, {fused}, surjective, fused >= 6), "124 from 6");
  EXPECT_EQ(detect(ten, {x, y}, surjective, fused < 128), dependent);
  EXPECT_EQ(detect({runs(x, 8), runs(y, 128), runs(z, 128)}, {x, y, z}, surjective,
                   x * 16384 + y * 128 + z < 100),
            dependent);
  EXPECT_EQ(detect({runs(x, 192)}, {floormod(x, 16), floordiv(x, 16)}, bijective,
                   floormod(x, 16) >= 3 && floormod(x, 16) < 10 && floordiv(x, 16) >= 4 &&
                       floordiv(x, 16) < 12),
            "7 from 3; 8 from 4");
  EXPECT_EQ(detect({runs(x, 1), runs(y, 129), runs(z, 128)}, {x * 129 + y, z}, surjective,
                   x * 129 + y < 128),
            "128; 128");
  EXPECT_EQ(detect({runs(x, 8), runs(y, 8), runs(z, 8)}, {x * 64 + y * 8 + z}, surjective,
                   x * 8 + y < 60 && y * 8 + z < 60),
            "Invalid constraints.");
  EXPECT_EQ(detect({runs(x, 16)}, {x}, surjective, x < 10 && x > 2), "7 from 3");
  EXPECT_EQ(detect({runs(x, 16)}, {x}, surjective, x == 5), "1 from 5");
  EXPECT_EQ(detect({runs(x, 16)}, {x}, surjective, x > 20), "The predicate never holds.");
  // A digit that is left out may be narrowed to one value, but not to several.
  EXPECT_EQ(detect({runs(x, 12)}, {floordiv(x, 6)}, bijective, floormod(x, 6) >= 1), no_bijection);
  EXPECT_EQ(detect({runs(x, 12)}, {floordiv(x, 6)}, bijective, floormod(x, 6) >= 5), "2");
  EXPECT_EQ(detect(ten, {x, y}, surjective, x < y),
            "Could not parse predicate as constraints on the input iterators.");
}

TEST_F(IterMap, iterators_are_independent_of_each_other) {
  EXPECT_EQ(detect({runs(x, 8), runs(y, x)}, {y}),
            "Invalid iterators. Iterators may not be expressions of each other.");
  EXPECT_EQ(detect({runs(x, 0)}, {x}), "An iterator runs through nothing.");
}

TEST_F(IterMap, simplification_undoes_what_splits_and_fusions_made) {
  const std::vector<Iterator> loops{runs(x, 4), runs(y, 32), runs(z, 2)};
  EXPECT_EQ(simplified(loops, floordiv(x * 32 + y, 32)), "x");
  EXPECT_EQ(simplified(loops, floormod(x * 32 + y, 32)), "y");
  EXPECT_EQ(simplified(loops, floordiv(x * 32 + y, 64)), "(x // 2)");
  EXPECT_EQ(simplified(loops, floormod(x * 32 + y, 64)), "(((x % 2) * 32) + y)");
  EXPECT_EQ(simplified(loops, floordiv(y, 8) * 8 + floormod(y, 8)), "y");
  EXPECT_EQ(simplified(loops, y - floordiv(y, 8) * 8), "(y % 8)");
  EXPECT_EQ(simplified(loops, floordiv((x * 32 + y) * 2 + z, 4)), "((x * 16) + (y // 2))");
  EXPECT_EQ(simplified({runs(x, 8, 3)}, floordiv(x, 4)), "(x // 4)");
  EXPECT_EQ(simplified({runs(x, 4, 4)}, floordiv(x, 4)), "1");
  EXPECT_EQ(simplified({runs(x, 1, 4)}, x), "4");
  EXPECT_EQ(simplified({runs(x, c)}, floordiv(x, 16) * 16 + floormod(x, 16)), "x");
  EXPECT_EQ(simplified({runs(x, c), runs(y, 16)}, floordiv(x * 16 + y, 16)), "x");
  EXPECT_EQ(simplified({runs(x, 8), runs(y, c)}, floordiv(x * c + y, c)), "x");
  EXPECT_EQ(simplified({runs(x, 8), runs(y, c)}, floormod(x * c + y, c)), "y");
  EXPECT_EQ(simplified({runs(x, 13), runs(y, 10)}, floordiv(x * 10 + y, 128), x * 10 + y < 128),
            "0");
  EXPECT_EQ(simplified(loops, x * y + 0 * z), "(x * y)");
}

TEST_F(IterMap, loops_that_run_have_extents) {
  const Expr m = var("m");  // It might be negative, but then nothing would run.
  const Expr rows = floordiv(x, 4096);
  const Expr back =
      floormod(floordiv(rows, m) * m + floormod(rows, m), m) * 4096 + floormod(x, 4096);
  EXPECT_EQ(simplified({runs(x, m * 4096)}, back), "x");
}

TEST_F(IterMap, what_has_no_digits_is_kept_in_the_base) {
  const std::vector<Iterator> loops{runs(x, 4), runs(y, 32)};
  const Expr odd = x * y;
  const IterSumExpr sum = normalize_to_iter_sum(y + x * 32 + odd + c, loops, analyzer);
  ASSERT_EQ(sum.args.size(), 2U);
  EXPECT_TRUE(sum.args[0].scale.is(32));
  EXPECT_TRUE(sum.args[1].scale.is(1));
  EXPECT_EQ(show(normalize_iter_map_to_expr(sum, i32, analyzer)),
            "(((x * 32) + y) + ((x * y) + c))");
  const IterSumExpr whole = normalize_to_iter_sum(floordiv(odd, 2), loops, analyzer);
  EXPECT_TRUE(whole.args.empty());
  EXPECT_EQ(show(whole.base.expr(i32)), "((x * y) // 2)");
}

TEST_F(IterMap, depth_and_size_are_bounded) {
  Expr deep = x;
  for (int i = 0; i < 5000; ++i) deep = floordiv(deep + (i % 2 == 0 ? y : z), 3) * 2;
  const std::vector<Iterator> loops{runs(x, 64), runs(y, 16), runs(z, 16)};
  EXPECT_TRUE(iter_map_simplify(std::vector{deep}, loops, {}, analyzer)[0].same_as(deep));
  const Expr large = int_imm(i64, std::int64_t{1} << 62);
  EXPECT_EQ(detect({runs(x, 64)}, {cast(i64, x) * large * int_imm(i64, 4)}),
            "Numbers leave 64 bits.");
}

TEST_F(IterMap, a_sum_of_large_scales_has_no_expression) {
  IterMark mark;
  mark.var = x;
  mark.min = 4;
  mark.extent = 8;
  const IterSplitExpr digit{.source = std::make_shared<const IterMark>(mark),
                            .extent = 8,
                            .scale = std::int64_t{1} << 62};
  EXPECT_EQ(
      testing::refusal([&] { normalize_iter_map_to_expr({{digit}, 0}, i64, analyzer); }),
      "map_has_expression: normalize_iter_map_to_expr: the sum has no expression: Numbers leave "
      "64 bits.");
}

}  // namespace
}  // namespace loopsmith
