// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/size_tree.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/size_choice.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;

std::vector<Sizes> grid() {
  std::vector<Sizes> points;
  for (const std::int64_t m : {1, 10, 100}) {
    for (const std::int64_t n : {1, 10, 100}) points.push_back({{"m", m}, {"n", n}});
  }
  return points;
}

TEST(SizeTree, has_the_splits_that_save_time_alone) {
  std::vector<std::vector<double>> costs, alike;
  for (const Sizes& point : grid()) {
    const bool is_first = (point.at("m") < 50) == (point.at("n") < 50);
    costs.push_back(is_first ? std::vector{1.0, 2.0} : std::vector{2.0, 1.0});
    alike.push_back(is_first ? std::vector{1.0, 1.0001} : std::vector{1.0001, 1.0});
  }
  const SizeTree tree = fitted_tree(grid(), costs);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    EXPECT_EQ(costs[i][static_cast<std::size_t>(tree.decide(grid()[i]))], 1.0);
  }
  EXPECT_EQ(SizeTree::from_json(tree.as_json()), tree);
  EXPECT_TRUE(fitted_tree(grid(), alike).is_leaf());
  EXPECT_EQ(SizeTree::from_json(R"(["m", 8, 0, ["m", 32, 2, 1]])").text(),
            "if m < 8:\n  variant 0\nelse:\n  if m < 32:\n    variant 2\n  else:\n    variant 1");
  EXPECT_EQ(refusal([] { SizeTree::from_json("[1, 2]"); }),
            "tree_is_of_sizes: tune: what decides between variants is no tree over sizes");
}

Ptr<PrimFunc> rows_of(const std::string& number) {
  return parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle):\n"
      "    m = T.int32()\n"
      "    A = T.match_buffer(a, (m,), \"float32\")\n"
      "    for i in range(m):\n"
      "        A[i] = T.float32(" +
      number + ")\n");
}

TEST(SizeTree, decides_in_one_function_which_variant_runs) {
  const Ptr<PrimFunc> func = rows_of("0");
  const SizeTree tree = SizeTree::from_json(R"(["m", 8, 0, ["m", 32, 2, 0]])");
  const std::string text = script(with_size_tree({func, func, func}, tree));
  EXPECT_NE(text.find("if m < 8 or "), std::string::npos) << text;
  EXPECT_EQ(text.find("else:", text.find("else:") + 1), std::string::npos) << "variant 1 is unused";
  EXPECT_EQ(refusal([&] { with_size_tree({func}, SizeTree::from_json(R"(["k", 8, 0, 0])")); }),
            "size_is_known: tune: the function has no size k; it has m");
  EXPECT_EQ(refusal([&] { with_size_tree({func}, SizeTree::from_json("3")); }),
            "variant_is_known: tune: the tree decides for variant 3 of 1");
}

TEST(SizeChoice, takes_schedules_that_together_save_most) {
  const std::vector<DrawnSizes> points = {{{{"m", 1}}, 0.5}, {{{"m", 100}}, 0.5}};
  const SizeTimes by_default = {4, 4};
  // The first two for one size each; the third is no better than they; the fourth saves too little.
  const std::vector<SizeTimes> found = {{1, 9}, {9, 1}, {3.9, 3.9}, {0.999, 9}};
  EXPECT_EQ(chosen_variants(points, by_default, found, 1), (std::vector<std::size_t>{3}));
  const auto chosen = chosen_variants(points, by_default, found, 4);
  EXPECT_EQ(chosen, (std::vector<std::size_t>{3, 1}));
  const SizeDecision made = decided(points, by_default, {found[3], found[1]}, {0.999, 1});
  ASSERT_EQ(made.rows.size(), 2U);
  EXPECT_EQ(made.rows[0].variant, 1);
  EXPECT_EQ(made.rows[1].variant, 2);
  EXPECT_EQ(made.rows[1].seconds, 1);
  EXPECT_EQ(made.rows[1].default_seconds, 4);
  EXPECT_NEAR(speedup_of(made.rows), 4.0, 0.01);
}

}  // namespace
}  // namespace loopsmith::tune
