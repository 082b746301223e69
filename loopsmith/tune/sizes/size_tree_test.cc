// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/size_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/tune/sizes/size_choice.h"
#include "loopsmith/tune/sizes/size_conditions.h"
#include "loopsmith/tune/sizes/variants.h"

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

/// A function of two sizes.
Ptr<PrimFunc> rows_and_columns() {
  return parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle):\n"
      "    m = T.int32()\n"
      "    n = T.int32()\n"
      "    A = T.match_buffer(a, (m, n), \"float32\")\n"
      "    for i, j in T.grid(m, n):\n"
      "        A[i, j] = T.float32(0)\n");
}

/// The conditions of the variants of a tree, as text, `; ` between them.
std::string conditions_of(const std::string& tree) {
  std::string text;
  const Ptr<PrimFunc> func = rows_and_columns();
  for (const auto& [variant, condition] : size_conditions(SizeTree::from_json(tree), *func)) {
    if (!text.empty()) text += "; ";
    const std::string whole = condition.defined() ? script(condition) : "else";
    text += fmt::format("{}: {}", variant, whole.substr(whole.rfind('\n') + 1));
  }
  return text;
}

TEST(SizeConditions, ask_once_what_a_path_asks_twice) {
  EXPECT_EQ(conditions_of("2"), "2: else");
  EXPECT_EQ(conditions_of(R"(["m", 32, ["m", 8, 0, 1], 2])"), "0: m < 8; 1: m < 32; 2: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, 2, ["m", 32, 1, 0]])"), "0: m >= 32; 1: m >= 8; 2: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, 0, ["m", 32, 2, 1]])"), "0: m < 8; 1: m >= 32; 2: else");
}

TEST(SizeConditions, join_paths_to_one_variant_that_touch) {
  EXPECT_EQ(conditions_of(R"(["m", 8, 0, ["m", 32, 0, 1]])"), "0: m < 32; 1: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, ["n", 4, 0, 1], ["n", 4, 0, 2]])"),
            "0: n < 4; 1: m < 8; 2: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, 1, 1])"), "1: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, 0, ["m", 32, 1, 0]])"), "0: m < 8 or m >= 32; 1: else");
}

TEST(SizeConditions, leave_out_what_no_sizes_are) {
  EXPECT_EQ(conditions_of(R"(["m", 8, ["m", 16, 0, 1], 2])"), "0: m < 8; 2: else");
  EXPECT_EQ(conditions_of(R"(["m", 8, ["m", 16, 0, 1], ["m", 4, 1, 0]])"), "0: else");
}

TEST(SizeConditions, keep_what_other_variants_do_not_take) {
  EXPECT_EQ(conditions_of(R"(["m", 8, ["n", 4, 0, 2], ["n", 64, 1, 2]])"),
            "0: m < 8 and n < 4; 1: m >= 8 and n < 64; 2: else");
}

TEST(SizeConditions, decide_as_their_tree_does) {
  const std::vector<std::string> trees = {
      R"(["m", 8, ["n", 4, 0, ["m", 4, 2, 1]], ["n", 64, 1, ["m", 16, 0, 3]]])",
      R"(["n", 16, ["m", 2, 3, ["n", 4, 1, 0]], ["m", 2, 0, ["n", 32, ["m", 9, 2, 1], 3]]])",
      R"(["m", 4, ["n", 4, 2, 0], ["m", 6, ["n", 8, 1, 2], ["n", 2, 0, ["n", 30, 3, 1]]]])"};
  const Ptr<PrimFunc> func = rows_and_columns();
  Analyzer analyzer;
  const Expr m = size_variable(*func, "m"), n = size_variable(*func, "n");
  for (const std::string& text : trees) {
    const SizeTree tree = SizeTree::from_json(text);
    const auto conditions = size_conditions(tree, *func);
    for (std::int64_t rows = 1; rows <= 40; ++rows) {
      for (std::int64_t columns = 1; columns <= 70; ++columns) {
        const int wanted = tree.decide({{"m", rows}, {"n", columns}});
        const Substitution values = {{m, Expr(static_cast<int>(rows))},
                                     {n, Expr(static_cast<int>(columns))}};
        const auto holds = [&](const VariantCondition& each) {
          return !each.condition.defined() ||
                 analyzer.can_prove(substitute(each.condition, values));
        };
        const auto found = std::ranges::find_if(conditions, holds);
        ASSERT_NE(found, conditions.end());
        ASSERT_EQ(found->variant, wanted) << text << " " << rows << " " << columns;
      }
    }
  }
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
