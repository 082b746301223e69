// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/int_constraints.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "loopsmith/arith/evaluate_test.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::Environment;
using testing::evaluate_scalar;
using testing::refusal;
using testing::show;
using Solutions = std::set<std::vector<std::int64_t>>;

bool hold(const std::vector<Expr>& relations, const Environment& values) {
  return std::all_of(relations.begin(), relations.end(),
                     [&](const Expr& r) { return *evaluate_scalar(r, values) != 0; });
}

/// Calls `visit` for all values of the variables in [low, high] that are in their ranges.
template <class Visit>
void for_each_point(const std::vector<Ptr<Var>>& variables, std::int64_t low, std::int64_t high,
                    Environment values, Visit visit, std::size_t from = 0) {
  if (from == variables.size()) return visit(values);
  for (std::int64_t v = low; v <= high; ++v) {
    values[variables[from].get()] = v;
    for_each_point(variables, low, high, values, visit, from + 1);
  }
}

bool in_ranges(const IntConstraints& system, const Environment& values) {
  for (std::size_t i = 0; i < system.ranges.size(); ++i) {
    if (!system.ranges[i]) continue;
    const std::int64_t offset =
        values.at(system.variables[i].get()) - *evaluate_scalar(system.ranges[i]->min, values);
    if (offset < 0 || offset >= *evaluate_scalar(system.ranges[i]->extent, values)) return false;
  }
  return true;
}

Solutions solutions_of(const IntConstraints& system) {
  Solutions result;
  for_each_point(system.variables, -6, 9, {}, [&](const Environment& values) {
    if (!in_ranges(system, values) || !hold(system.relations, values)) return;
    std::vector<std::int64_t> point;
    for (const Ptr<Var>& variable : system.variables) point.push_back(values.at(variable.get()));
    result.insert(point);
  });
  return result;
}

class Constraints : public ::testing::Test {
 protected:
  Ptr<Var> x = var("x"), y = var("y"), z = var("z"), n = var("n");
};

TEST_F(Constraints, equations_leave_the_free_variables) {
  const auto line = solve_linear_equations({{x, y}, {}, {x + y == n}});
  ASSERT_EQ(line.dst.variables.size(), 1U);
  EXPECT_TRUE(line.dst.relations.empty());
  const auto point = solve_linear_equations({{x, y}, {}, {x + y == 5, x - y == 1}});
  EXPECT_TRUE(point.dst.variables.empty());
  EXPECT_EQ(show(point.src_to_dst.at(x)), "3");
  EXPECT_EQ(show(point.src_to_dst.at(y)), "2");
  const auto symbolic = solve_linear_equations({{x}, {}, {x * 4 == n}});
  EXPECT_EQ(show(symbolic.src_to_dst.at(x)), "(n // 4)");
  ASSERT_EQ(symbolic.dst.relations.size(), 1U);
  EXPECT_EQ(show(symbolic.dst.relations[0]), "((n % 4) == 0)");
  const auto none = solve_linear_equations({{x, y}, {}, {x * 2 + y * 4 == 3}});
  ASSERT_EQ(none.dst.relations.size(), 1U);
  EXPECT_TRUE(is_const_int(none.dst.relations[0], 0));
  const auto bounded =
      solve_linear_equations({{x, y}, {range(0, 8), range(0, 4)}, {x - y * 2 == 0}});
  ASSERT_EQ(bounded.dst.variables.size(), 1U);
  EXPECT_EQ(show(bounded.dst.ranges[0]->extent), "4");
  EXPECT_TRUE(bounded.dst.relations.empty());
}

TEST_F(Constraints, inequalities_bound_each_variable_by_those_after_it) {
  const auto solved = solve_linear_inequalities({{x, y}, {}, {x >= 0, y >= 0, x + y * 2 < 10}});
  ASSERT_EQ(solved.bounds.size(), 2U);
  EXPECT_EQ(show(solved.bounds[0].bounds.lower[0]), "0");
  EXPECT_EQ(show(solved.bounds[0].bounds.upper[0]), "(9 - (y * 2))");
  EXPECT_EQ(show(solved.bounds[1].bounds.upper[0]), "4");
  EXPECT_TRUE(solved.relations.empty());
  const auto none = solve_linear_inequalities({{x}, {}, {x > 5, x < 3}});
  ASSERT_EQ(none.relations.size(), 1U);
  EXPECT_TRUE(is_const_int(none.relations[0], 0));
  const auto open = solve_linear_inequalities({{x}, {}, {x > n, x * x < 3}});
  ASSERT_EQ(open.relations.size(), 1U);
  EXPECT_EQ(show(open.relations[0]), "((x * x) < 3)");
}

TEST_F(Constraints, new_variables_grow_with_the_first_that_they_tell) {
  const auto solved = solve_linear_equations({{x, y}, {}, {x + y == 10}});
  ASSERT_EQ(solved.dst.variables.size(), 1U);
  EXPECT_EQ(show(solved.src_to_dst.at(y)), "(n0 * -1)");
  EXPECT_EQ(show(solved.src_to_dst.at(x)), "(n0 + 10)");
}

TEST_F(Constraints, ranges_are_the_best_that_follow) {
  const auto solved = solve_inequalities_to_range({{x, y}, {}, {x >= y, x < 10, y >= 3, y < 20}});
  ASSERT_EQ(solved.ranges.size(), 2U);
  EXPECT_EQ(show(solved.ranges[1]->min), "3");
  EXPECT_EQ(show(solved.ranges[1]->extent), "7");
  const auto shifted = solve_inequalities_deskew_range({{x}, {}, {x >= n, x < n + 5}});
  EXPECT_EQ(show(shifted.dst.ranges[0]->min), "0");
  EXPECT_EQ(show(shifted.dst.ranges[0]->extent), "5");
  EXPECT_EQ(show(shifted.src_to_dst.at(x)), "(x + n)");

  // What has one value is that value, there and in the bounds of others; what has no range stays.
  const IntConstraints tight{{x, y}, {}, {x + y >= 10, x - y >= 2, x <= 6}};
  const auto point = solve_inequalities_to_range(tight);
  EXPECT_EQ(show(point.ranges[0]->min), "6");
  const auto moved = solve_inequalities_deskew_range(tight);
  EXPECT_TRUE(moved.dst.variables.empty());
  EXPECT_EQ(show(moved.src_to_dst.at(x)), "6");
  EXPECT_EQ(show(moved.src_to_dst.at(y)), "4");
  const auto open = solve_inequalities_deskew_range({{x, y}, {}, {x >= 6, x <= 6}});
  EXPECT_TRUE(open.src_to_dst.at(y).same_as(y));

  // Without a solution there is no variable.
  const auto none = solve_inequalities_to_range({{x}, {}, {x * 4 <= 6, x >= 5}});
  EXPECT_TRUE(none.variables.empty());
  ASSERT_EQ(none.relations.size(), 1U);
  EXPECT_TRUE(is_const_int(none.relations[0], 0));

  // Multiples of 2 between two values at a distance of 2: two at most, wherever these are.
  const auto halves = solve_inequalities_deskew_range({{x}, {}, {x * 2 >= n - 2, x * 2 <= n}});
  EXPECT_TRUE(is_const_int(halves.dst.ranges[0]->extent, 2));
  EXPECT_FALSE(halves.dst.relations.empty());
}

TEST_F(Constraints, numbers_and_systems_that_grow_too_large_are_refused) {
  const Ptr<Var> a = var("a", i64), b = var("b", i64);
  const Expr large = int_imm(i64, (std::int64_t{1} << 62) + 1);
  const Expr other = int_imm(i64, (std::int64_t{1} << 62) - 3);
  EXPECT_EQ(refusal([&] {
              solve_linear_equations({{a, b}, {}, {a * large + b * other == int_imm(i64, 1)}});
              solve_linear_inequalities({{a, b},
                                         {},
                                         {a * large + b * other <= int_imm(i64, 1),
                                          a * other - b * large >= int_imm(i64, 1)}});
            }),
            "coefficients_fit_64_bits: solve: a coefficient leaves 64 bits");
  std::mt19937 random(5);
  std::vector<Ptr<Var>> many;
  for (int i = 0; i < 8; ++i) many.push_back(var("v", i64));
  std::vector<Expr> relations;
  for (int k = 0; k < 120; ++k) {
    Expr sum = int_imm(i64, 0);
    for (const Ptr<Var>& v : many) sum = sum + v * (static_cast<int>(random() % 3U) - 1);
    relations.push_back(sum <= static_cast<int>(random() % 50U));
  }
  EXPECT_EQ(refusal([&] { solve_linear_inequalities({many, {}, relations}); }),
            "inequalities_are_few: solve: more than 4000 inequalities arose");
}

class RandomSystem : public Constraints {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random); }
  Expr sum() { return x * pick(-3, 3) + y * pick(-3, 3) + z * pick(-2, 2) + pick(-6, 6); }
  std::mt19937 random{11};
};

TEST_F(RandomSystem, equations_keep_their_solutions) {
  int solvable = 0;
  for (int trial = 0; trial < 150; ++trial) {
    IntConstraints system{{x, y, z}, {}, {}};
    for (int i = 0; i < 3; ++i) system.ranges.push_back(range(pick(-3, 1), pick(1, 6)));
    for (int i = pick(1, 2); i > 0; --i) system.relations.push_back(sum() == sum());
    if (pick(0, 2) == 0) system.relations.push_back(sum() <= 2);
    const auto solved = solve_linear_equations(system);
    const Solutions expected = solutions_of(system);
    solvable += expected.empty() ? 0 : 1;
    Solutions found;
    const auto visit = [&](const Environment& values) {
      if (!in_ranges(solved.dst, values) || !hold(solved.dst.relations, values)) return;
      std::vector<std::int64_t> point;
      Environment old = values;
      for (const Ptr<Var>& variable : system.variables) {
        point.push_back(*evaluate_scalar(solved.src_to_dst.at(variable), values));
        old[variable.get()] = point.back();
      }
      for (const Ptr<Var>& fresh : solved.dst.variables) {
        ASSERT_EQ(evaluate_scalar(solved.dst_to_src.at(fresh), old), values.at(fresh.get()));
      }
      ASSERT_TRUE(found.insert(point).second);
    };
    for_each_point(solved.dst.variables, -25, 25, {}, visit);
    if (HasFatalFailure()) return;
    if (solved.dst.variables.size() == 3) continue;  // Too many points to see them all.
    ASSERT_EQ(found, expected) << show(system.relations[0]);
  }
  EXPECT_GT(solvable, 20);
}

TEST_F(RandomSystem, inequalities_keep_their_solutions) {
  int solvable = 0;
  for (int trial = 0; trial < 60; ++trial) {
    IntConstraints system{{x, y, z}, {}, {}};
    for (int i = 0; i < 3; ++i) system.ranges.push_back(range(pick(-4, 1), pick(1, 8)));
    for (int i = pick(1, 4); i > 0; --i) {
      system.relations.push_back(pick(0, 4) == 0 ? sum() == sum() : sum() <= sum());
    }
    const Solutions expected = solutions_of(system);
    solvable += expected.empty() ? 0 : 1;
    const PartialSolution solved = solve_linear_inequalities(system);
    IntConstraints by_bounds{system.variables, {}, solved.relations};
    for (const auto& [variable, bounds] : solved.bounds) {
      const Expr value = variable * static_cast<int>(bounds.coef);
      for (const Expr& e : bounds.lower) by_bounds.relations.push_back(e <= value);
      for (const Expr& e : bounds.equal) by_bounds.relations.push_back(e == value);
      for (const Expr& e : bounds.upper) by_bounds.relations.push_back(value <= e);
    }
    ASSERT_EQ(solutions_of(by_bounds), expected);
    ASSERT_EQ(solutions_of(solve_inequalities_to_range(system)), expected);
  }
  EXPECT_GT(solvable, 20);
}

}  // namespace
}  // namespace loopsmith
