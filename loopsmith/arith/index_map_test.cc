// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/index_map.h"

#include <gtest/gtest.h>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::refusal;
using testing::show;

class IndexMaps : public ::testing::Test {
 protected:
  IndexMap map(std::vector<Ptr<Var>> initial, std::vector<Expr> final_indices) {
    return {.initial_indices = std::move(initial), .final_indices = std::move(final_indices)};
  }
  static std::vector<Ptr<Range>> box(std::vector<int> extents) {
    std::vector<Ptr<Range>> result;
    for (const int extent : extents) result.push_back(range(0, extent));
    return result;
  }
  static std::string text(const std::vector<Expr>& indices) {
    std::string result;
    for (const Expr& index : indices) result += (result.empty() ? "" : ", ") + show(index);
    return result;
  }

  /// The inverse of what is detected of `indices` over i < 8, j < 3.
  void invert(const std::vector<Expr>& indices, const std::vector<Expr>& outputs) {
    const std::vector<Iterator> loops{{i, 0, 8}, {j, 0, 3}};
    const auto forms = detect_iter_map(indices, loops, {}, analyzer);
    inverse_affine_iter_map(forms.indices, outputs, analyzer).value();
  }

  Ptr<Var> i = var("i"), j = var("j");
  Analyzer analyzer;
};

TEST_F(IndexMaps, take_indices_and_shapes) {
  const IndexMap tiles = map({i, j}, {floordiv(i, 4), j, floormod(i, 4)});
  EXPECT_EQ(text(map_indices(tiles, std::vector<Expr>{9, i}, analyzer)), "2, i, 1");
  EXPECT_EQ(text(map_shape(tiles, std::vector<Expr>{16, 7}, analyzer).value()), "4, 7, 4");
  EXPECT_EQ(text(map_shape(tiles, std::vector<Expr>{14, 7}, analyzer).value()), "4, 7, 4");
  EXPECT_EQ(text(map_shape(map({i}, {i * 4}), std::vector<Expr>{3}, analyzer).value()), "12");
  EXPECT_EQ(text(map_shape(map({i, j}, {i * j}), std::vector<Expr>{3, 5}, analyzer).value()), "9");
  const Ptr<Var> n = size_var("n");
  EXPECT_EQ(
      text(map_shape(map({i}, {floordiv(i, 16), floormod(i, 16)}), std::vector<Expr>{n}, analyzer)
               .value()),
      "((n + 15) // 16), 16");
  EXPECT_EQ(refusal([&] { map_indices(tiles, std::vector<Expr>{i}, analyzer); }),
            "index_map_arity: index map: number of parameters mismatch: the map takes 2 indices, "
            "1 were given");
  EXPECT_EQ(
      refusal([&] { map_shape(map({i}, {6 - i}), std::vector<Expr>{8}, analyzer).value(); }),
      "index_map_begins_at_0: index map: index 0 of the image begins at -1, which may be below "
      "0");
  const Expr odd = call(op("bitwise_and"), {Expr(i), Expr(j)});
  EXPECT_EQ(refusal([&] { map_ranges(map({i, j}, {odd}), box({4, 4}), analyzer).value(); }),
            "index_map_is_bounded: index map: an index of the image has no bounds");
}

TEST_F(IndexMaps, are_inverted) {
  const IndexMap tiles = map({i, j}, {floordiv(i, 4), j, floormod(i, 4)});
  EXPECT_EQ(text(inverse(tiles, box({16, 7}), analyzer).value()->final_indices),
            "((axis0 * 4) + axis2), axis1");
  const auto [back, padding] = non_surjective_inverse(tiles, box({14, 7}), analyzer).value();
  EXPECT_EQ(text(back->final_indices), "((axis0 * 4) + axis2), axis1");
  EXPECT_EQ(show(padding), "((axis0 == 3) and (1 < axis2))");
  const auto [wide, holes] = non_surjective_inverse(map({i}, {i * 4}), box({3}), analyzer).value();
  EXPECT_EQ(text(wide->final_indices), "(axis0 // 4)");
  EXPECT_EQ(show(holes), "((axis0 % 4) != 0)");
  const IndexMap shifted = map({i}, {floordiv(i + 1, 4), floormod(i + 1, 4)});
  const auto [unshifted, ends] = non_surjective_inverse(shifted, box({7}), analyzer).value();
  EXPECT_EQ(text(unshifted->final_indices), "(((axis0 * 4) + axis1) - 1)");
  EXPECT_EQ(show(ends), "((axis0 == 0) and (axis1 < 1))");
  EXPECT_EQ(text(inverse(map({i, j}, {i}), box({8, 1}), analyzer).value()->final_indices),
            "axis0, 0");
}

TEST_F(IndexMaps, that_count_from_the_end_are_inverted) {
  const auto back = [&](const IndexMap& given, const std::vector<int>& extents) {
    return text(inverse(given, box(extents), analyzer).value()->final_indices);
  };
  EXPECT_EQ(back(map({i}, {7 - i}), {8}), "(7 - axis0)");
  EXPECT_EQ(back(map({i, j}, {j, 7 - i}), {8, 3}), "(7 - axis1), axis0");
  EXPECT_EQ(back(map({i, j}, {23 - (i * 3 + j)}), {8, 3}), "(7 - (axis0 // 3)), (2 - (axis0 % 3))");
  const auto [padded, where] =
      non_surjective_inverse(map({i}, {floordiv(6 - i, 4), floormod(6 - i, 4)}), box({7}), analyzer)
          .value();
  EXPECT_EQ(text(padded->final_indices), "((6 - (axis0 * 4)) - axis1)");
  EXPECT_FALSE(is_const_int(where, 0));
}

TEST_F(IndexMaps, that_have_no_inverse_are_refused) {
  const IndexMap tiles = map({i}, {floordiv(i, 4), floormod(i, 4)});
  EXPECT_EQ(refusal([&] { inverse(tiles, box({14}), analyzer).value(); }),
            "index_map_is_bijective: index map: Could not parse mapping as sum of iterators. "
            "The iterations do not traverse full iter space");
  EXPECT_EQ(refusal([&] { inverse(map({i}, {i * 4}), box({14}), analyzer).value(); }),
            "index_map_is_bijective: index map: the image has points that no index is mapped to");
  EXPECT_EQ(
      refusal([&] { non_surjective_inverse(map({i, j}, {i}), box({8, 8}), analyzer).value(); }),
      "index_map_is_injective: index map: different indices are mapped to the same");
  EXPECT_EQ(
      refusal([&] { non_surjective_inverse(map({i, j}, {i * j}), box({8, 8}), analyzer).value(); }),
      "index_map_is_affine: index map: Could not parse mapping as sum of iterators. "
      "Product of two iterators cannot be represented as an IterMap.");
  EXPECT_EQ(refusal([&] { invert({i, j}, {i}); }),
            "one_output_for_each_index: inverse: the map has 2 indices, 1 outputs were given");
  EXPECT_EQ(refusal([&] { invert({i * 2 + j}, {i}); }),
            "map_is_invertible: inverse: different values of the iterators give the same index");
}

TEST_F(IndexMaps, are_simplified_and_compared) {
  const Expr fused = i * 8 + j;
  const IndexMap round = map({i, j}, {floordiv(fused, 8), floormod(fused, 8)});
  EXPECT_EQ(text(simplified(round, box({4, 8}), analyzer)->final_indices), "i, j");
  const Ptr<Var> a = var("a");
  EXPECT_TRUE(is_equivalent(map({i}, {i + i}), map({a}, {a * 2}), analyzer));
  EXPECT_TRUE(
      is_equivalent(map({i}, {floordiv(i, 4) * 4 + floormod(i, 4)}), map({a}, {a}), analyzer));
  EXPECT_FALSE(is_equivalent(map({i}, {i + 1}), map({a}, {a}), analyzer));
  EXPECT_FALSE(is_equivalent(map({i}, {i}), map({a}, {a, a}), analyzer));
  EXPECT_FALSE(is_equivalent(map({i, j}, {i}), map({a}, {a}), analyzer));
}

}  // namespace
}  // namespace loopsmith
