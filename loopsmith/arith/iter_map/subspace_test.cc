// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::show;

class Subspace : public ::testing::Test {
 protected:
  /// "outer (extent) | inner (extent)" of each index, then the predicates; or the error.
  std::string divide(std::vector<Iterator> iterators, std::vector<Expr> indices,
                     std::vector<Ptr<Var>> inner, const Expr& predicate = nullptr) {
    const SubspaceDivision result =
        subspace_divide(indices, iterators, inner, {.predicate = predicate}, analyzer);
    if (!result.ok()) return result.errors.at(0);
    std::string text;
    const auto add = [&](const IterSumExpr& sum, const SymbolicInt& extent) {
      text += show(normalize_iter_map_to_expr(sum, i32, analyzer)) + " (" + show(extent.expr(i32)) +
              ")";
    };
    for (const SubspacePart& part : result.parts) {
      add(part.outer, part.outer_extent);
      text += " | ";
      add(part.inner, part.inner_extent);
      text += "; ";
    }
    return text + show(result.outer_predicate) + " | " + show(result.inner_predicate);
  }

  Ptr<Var> x = var("x"), y = var("y"), z = var("z"), n = size_var("n");
  Analyzer analyzer;
  const std::string mixed = "The subspace is not what changes fastest in an index.";
};

TEST_F(Subspace, inner_iterators_are_the_digits_that_change_fastest) {
  const std::vector<Iterator> loops{{z, 0, 8}, {y, 0, 4}, {x, 0, 3}};
  const Expr index = z * 12 + y * 3 + x;
  EXPECT_EQ(divide(loops, {index}, {x}), "((z * 4) + y) (32) | x (3); 1 | 1");
  EXPECT_EQ(divide(loops, {index}, {y, x}), "z (8) | ((y * 3) + x) (12); 1 | 1");
  EXPECT_EQ(divide(loops, {index + 5}, {x}), "((z * 4) + y) (32) | (x + 5) (3); 1 | 1");
  EXPECT_EQ(divide(loops, {index}, {y}), mixed);
  EXPECT_EQ(divide(loops, {z, y * 3 + x}, {x, y}),
            "z (8) | 0 (1); 0 (1) | ((y * 3) + x) (12); 1 | 1");
  EXPECT_EQ(divide({{x, 0, floordiv(n + 15, 16)}, {y, 0, 16}}, {x * 16 + y}, {y}),
            "x (((n + 15) // 16)) | y (16); 1 | 1");
}

TEST_F(Subspace, digits_of_fused_loops_are_divided) {
  const std::vector<Iterator> loops{{x, 0, 8}, {y, 0, 32}};
  const Expr fused = x * 32 + y;
  EXPECT_EQ(divide(loops, {floordiv(fused, 64), floormod(fused, 64)}, {y}),
            "(x // 2) (4) | 0 (1); (x % 2) (2) | y (32); 1 | 1");
  EXPECT_EQ(divide(loops, {floordiv(fused, 8), floormod(fused, 8)}, {y}),
            "x (8) | (y // 8) (4); 0 (1) | (y % 8) (8); 1 | 1");
}

TEST_F(Subspace, conditions_belong_to_one_part) {
  const std::vector<Iterator> loops{{x, 0, 8}, {y, 0, 32}};
  EXPECT_EQ(divide(loops, {x, y}, {y}, x < 5 && y < 7),
            "x (5) | 0 (1); 0 (1) | y (7); (x < 5) | (y < 7)");
  EXPECT_EQ(divide(loops, {x * 32 + y}, {y}, x < 5), "x (5) | y (32); (x < 5) | 1");
  EXPECT_EQ(divide(loops, {x * 32 + y}, {y}, y < 7),
            "Fuse iters failed: the digits leave holes, or overlap.");
  EXPECT_EQ(divide(loops, {x * 32 + y}, {y}, x * 32 + y < 200),
            "A condition is about both parts of the space.");
}

}  // namespace
}  // namespace loopsmith
