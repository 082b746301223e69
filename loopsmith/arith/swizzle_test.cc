// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/swizzle.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::refusal;
using testing::show;

Expr bitwise_xor(const Expr& a, const Expr& b) {
  return call(op("bitwise_xor"), {a, b});
}

class Swizzles : public ::testing::Test {
 protected:
  IndexMap map(std::vector<Expr> final_indices) {
    return {.initial_indices = {i, j}, .final_indices = std::move(final_indices)};
  }
  static std::vector<Ptr<Range>> box(int rows, int columns) {
    return {range(0, rows), range(0, columns)};
  }
  std::vector<std::int64_t> numbers(const IndexMap& of, const std::vector<Expr>& indices) {
    std::vector<std::int64_t> result;
    for (const Expr& index : map_indices(of, indices, analyzer)) result.push_back(*as_int(index));
    return result;
  }

  /// Asks at each point of a box whether a map takes it to a place of its own, and back.
  void expect_inverse(const IndexMap& swizzled, int rows, int columns) {
    const auto [back, padding] =
        non_surjective_inverse(swizzled, box(rows, columns), analyzer).value();
    const auto shape = map_shape(swizzled, std::vector<Expr>{rows, columns}, analyzer).value();
    std::set<std::vector<std::int64_t>> images;
    std::int64_t room = 1;
    for (const Expr& extent : shape) room *= *as_int(extent);
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const auto image = numbers(swizzled, {row, column});
        images.insert(image);
        std::vector<Expr> place;
        Substitution at;
        for (std::size_t k = 0; k < image.size(); ++k) {
          EXPECT_GE(image[k], 0);
          EXPECT_LT(image[k], *as_int(shape[k]));
          place.emplace_back(static_cast<int>(image[k]));
          at[back->initial_indices[k]] = place.back();
        }
        EXPECT_EQ(numbers(*back, place), (std::vector<std::int64_t>{row, column}));
        EXPECT_TRUE(is_const_int(analyzer.simplify(substitute(padding, at)), 0)) << show(padding);
      }
    }
    EXPECT_EQ(images.size(), static_cast<std::size_t>(rows * columns));
    EXPECT_EQ(is_const_int(padding, 0), room == rows * columns) << show(padding);
  }

  Ptr<Var> i = var("i"), j = var("j");
  Analyzer analyzer;
};

TEST_F(Swizzles, rotate_an_index) {
  const IndexMap rotated = map({i, floormod(j + i, 20)});
  const auto back = inverse(rotated, box(12, 20), analyzer).value();
  EXPECT_EQ(show(back->final_indices[1]), "((axis1 - axis0) % 20)");
  expect_inverse(rotated, 12, 20);
  expect_inverse(map({i, floormod(i * 4 - j, 20)}), 12, 20);
  expect_inverse(map({i, floormod(j * 3 + i * i, 20)}), 7, 20);
  expect_inverse(map({floormod(i + j, 12), j}), 12, 20);
}

TEST_F(Swizzles, rotate_by_symbolic_sizes) {
  const Ptr<Var> n = size_var("n");
  const std::vector<Ptr<Range>> sides{range(0, 8), range(0, n)};
  const auto back = inverse(map({i, floormod(j + i, n)}), sides, analyzer).value();
  EXPECT_EQ(show(back->final_indices[1]), "((axis1 - axis0) % n)");
}

TEST_F(Swizzles, combine_by_exclusive_or) {
  expect_inverse(map({i, bitwise_xor(j, floormod(i, 8))}), 16, 32);
  expect_inverse(map({i, bitwise_xor(floormod(i, 8), j)}), 16, 24);
}

TEST_F(Swizzles, are_of_digits_too) {
  // Chunks of 8 change places, as tiles in shared memory have them.
  expect_inverse(map({i, bitwise_xor(floordiv(j, 8), floormod(i, 8)) * 8 + floormod(j, 8)}), 16,
                 64);
  expect_inverse(map({i, floordiv(j, 4), bitwise_xor(floormod(j, 4), floormod(i, 4))}), 8, 12);
  expect_inverse(map({floordiv(i, 4), floormod(floormod(i, 4) + floordiv(j, 16), 4), j}), 8, 32);
  // One digit of an index rotates by another.
  expect_inverse(map({i, floordiv(j, 4) * 4 + floormod(floormod(j, 4) + floordiv(j, 4), 4)}), 3,
                 16);
}

TEST_F(Swizzles, go_with_padding_and_with_one_another) {
  expect_inverse(map({floormod(i + j, 12), floordiv(j, 8), floormod(j, 8)}), 12, 20);
  const Expr both = floormod(j + i, 20);
  expect_inverse(map({i, floordiv(both, 4), floormod(both, 4)}), 6, 20);
  EXPECT_EQ(refusal([&] {
              non_surjective_inverse(map({floordiv(i, 4), both}), box(6, 20), analyzer).value();
            }).substr(0, 23),
            "index_map_is_injective:");
}

TEST_F(Swizzles, are_none_where_values_collide) {
  for (const IndexMap& broken :
       {map({i, floormod(j * 2 + i, 20)}), map({i, floormod(j + i, 10)}),
        map({floordiv(i, 2), floormod(j + i, 20)}), map({i, bitwise_xor(j, floormod(i, 8))})}) {
    EXPECT_EQ(refusal([&] { inverse(broken, box(12, 20), analyzer).value(); }).substr(0, 23),
              "index_map_is_bijective:");
  }
}

TEST_F(Swizzles, of_random_form_are_permutations_or_refused) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<int>(random() % most); };
  int taken = 0;
  for (int round = 0; round < 300; ++round) {
    const int columns = 4 * (1 + draw(6)), rows = 1 + draw(9);
    const Expr parts[] = {i, floormod(i, 4), floordiv(i, 2), floordiv(j, 4), i * 3};
    const Expr by = parts[draw(5)];
    const Expr digits[] = {j, floormod(j, 4), floordiv(j, 4)};
    const int which = draw(3);
    const int count = which == 0 ? columns : which == 1 ? 4 : columns / 4;
    const Expr moved = draw(2) == 0 ? floormod(digits[which] * (1 + draw(3)) + by, count)
                                    : bitwise_xor(digits[which], by);
    const IndexMap swizzled = which == 0   ? map({i, moved})
                              : which == 1 ? map({i, floordiv(j, 4) * 4 + moved})
                                           : map({i, moved * 4 + floormod(j, 4)});
    try {
      non_surjective_inverse(swizzled, box(rows, columns), analyzer).value();
    } catch (const UserError&) {
      continue;
    }
    ++taken;
    expect_inverse(swizzled, rows, columns);
  }
  EXPECT_GT(taken, 50);
}

}  // namespace
}  // namespace loopsmith
