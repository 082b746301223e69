// SPDX-License-Identifier: Apache-2.0
// Random maps: whatever is said of them is compared with all their points.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/evaluate_test.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using testing::Environment;
using testing::evaluate_scalar;
using testing::show;
using Point = std::vector<std::int64_t>;

/// A random map: iterators, indices that splits, fusions and windows make, maybe a predicate.
class RandomMap {
 public:
  explicit RandomMap(unsigned seed) : random_(seed) {
    static constexpr int extents[] = {1, 2, 3, 4, 5, 6, 8, 12};
    const int count = pick(1, 3);
    for (int i = 0; i < count; ++i) {
      iterators.push_back({var(std::string(1, static_cast<char>('x' + i))),
                           pick(0, 4) == 0 ? pick(-3, 5) : 0, extents[pick(0, 7)]});
    }
    const int wanted = pick(1, 3);
    for (int i = 0; i < wanted; ++i) indices.push_back(index(pick(0, 3)));
    if (pick(0, 2) == 0) {
      predicate = comparison();
      if (pick(0, 1) == 0) predicate = predicate && comparison();
    }
  }

  /// All points of the iterators where the predicate holds.
  std::vector<Environment> points() const {
    std::vector<Environment> result{{}};
    for (const Iterator& iterator : iterators) {
      std::vector<Environment> longer;
      for (const Environment& point : result) {
        for (std::int64_t i = 0; i < *as_int(iterator.extent); ++i) {
          longer.push_back(point);
          longer.back()[iterator.var.get()] = *as_int(iterator.min) + i;
        }
      }
      result = std::move(longer);
    }
    if (predicate.defined()) {
      std::erase_if(result,
                    [&](const Environment& p) { return *evaluate_scalar(predicate, p) == 0; });
    }
    return result;
  }

  std::string text() const {
    std::string result;
    for (const Iterator& it : iterators) {
      result += it.var->name + " in " + show(it.min) + " + [0, " + show(it.extent) + "); ";
    }
    for (const Expr& e : indices) result += show(e) + "; ";
    return predicate.defined() ? result + "where " + show(predicate) : result;
  }

  std::vector<Iterator> iterators;
  std::vector<Expr> indices;
  Expr predicate;

 private:
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  const Iterator& any() {
    return iterators[static_cast<std::size_t>(pick(0, static_cast<int>(iterators.size()) - 1))];
  }
  int factor() {
    static constexpr int factors[] = {2, 3, 4, 6, 8, 12, 5};
    return factors[pick(0, 6)];
  }

  /// All iterators as the digits of one number, now and then with overlaps or holes.
  Expr mixed_radix() {
    Expr result = iterators[0].var;
    for (std::size_t i = 1; i < iterators.size(); ++i) {
      const Expr scale = pick(0, 5) == 0 ? Expr(factor()) : iterators[i].extent;
      result = result * scale + (iterators[i].var - iterators[i].min);
    }
    return result;
  }

  Expr index(int depth) {
    if (depth == 0) return pick(0, 1) == 0 ? Expr(any().var) : mixed_radix();
    const Expr inner = index(depth - 1);
    switch (pick(0, 7)) {
      case 0:
      case 1: return floordiv(inner, factor());
      case 2:
      case 3: return floormod(inner, factor());
      case 4: return inner + pick(-4, 9);
      case 5: return inner * pick(1, 3);
      case 6: return inner * factor() + any().var;
      default: return inner - floordiv(inner, factor()) * factor();
    }
  }

  Expr comparison() {
    const Expr a = index(pick(0, 1));
    const Expr limit = pick(0, 20);
    switch (pick(0, 4)) {
      case 0: return a < limit;
      case 1: return a <= limit;
      case 2: return a >= limit - 6;
      case 3: return limit - 8 < a;
      default: return a == limit;
    }
  }

  std::mt19937 random_;
};

Point at(const std::vector<Expr>& indices, const Environment& point) {
  Point result;
  for (const Expr& index : indices) result.push_back(*evaluate_scalar(index, point));
  return result;
}

/// How many points the box of the detected indices has.
std::int64_t box_size(const IterMapResult& map) {
  std::int64_t result = 1;
  for (const IterSumExpr& index : map.indices) {
    if (!index.args.empty()) result *= index.args[0].extent.constant;
  }
  return result;
}

bool is_in_box(const IterMapResult& map, const Point& point) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    const IterSumExpr& index = map.indices[i];
    const std::int64_t offset = point[i] - index.base.constant;
    if (index.args.empty()) {
      if (offset != 0) return false;
      continue;
    }
    const IterSplitExpr& digit = index.args[0];
    if (offset < 0 || offset % digit.scale.constant != 0) return false;
    if (offset / digit.scale.constant >= digit.extent.constant) return false;
  }
  return true;
}

/// All points of that box.
std::vector<Point> box_of(const IterMapResult& map) {
  std::vector<Point> result{{}};
  for (const IterSumExpr& index : map.indices) {
    std::vector<Point> longer;
    const bool is_fixed = index.args.empty();
    const std::int64_t extent = is_fixed ? 1 : index.args[0].extent.constant;
    const std::int64_t scale = is_fixed ? 1 : index.args[0].scale.constant;
    for (const Point& point : result) {
      for (std::int64_t i = 0; i < extent; ++i) {
        longer.push_back(point);
        longer.back().push_back(index.base.constant + i * scale);
      }
    }
    result = std::move(longer);
  }
  return result;
}

/// From each point of the box, the inverse leads to the point that leads there; where there is
/// none, the padding predicate says so.
void expect_inverse(const RandomMap& map, const IterMapResult& result,
                    const std::vector<Expr>& forms, const std::vector<Environment>& points) {
  Analyzer analyzer;
  std::vector<Expr> outputs;
  std::vector<Ptr<Var>> axes;
  for (std::size_t i = 0; i < result.indices.size(); ++i) {
    axes.push_back(var("axis"));
    outputs.emplace_back(axes.back());
  }
  const Substitution inverse = inverse_affine_iter_map(result.indices, outputs, analyzer).value();
  const std::set<Environment> all(points.begin(), points.end());
  for (const Point& point : box_of(result)) {
    Environment values;
    for (std::size_t i = 0; i < point.size(); ++i) values[axes[i].get()] = point[i];
    Environment source;
    for (const Iterator& iterator : map.iterators) {
      const auto found = inverse.find(iterator.var);
      // An iterator of one value is that value; the predicate may leave one of several.
      source[iterator.var.get()] =
          found == inverse.end() ? *as_int(iterator.min) : *evaluate_scalar(found->second, values);
    }
    if (map.predicate.defined()) continue;
    ASSERT_EQ(at(forms, source), point);
    const bool is_padding = *evaluate_scalar(result.padding_predicate, source) != 0;
    ASSERT_EQ(is_padding, !all.contains(source)) << show(result.padding_predicate);
  }
}

TEST(iter_map_enumeration, simplification_keeps_values) {
  int changed = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const RandomMap map(seed);
    Analyzer analyzer;
    const auto simple =
        iter_map_simplify(map.indices, map.iterators, {.predicate = map.predicate}, analyzer);
    for (std::size_t i = 0; i < simple.size(); ++i) {
      changed += simple[i].same_as(map.indices[i]) ? 0 : 1;
    }
    for (const Environment& point : map.points()) {
      ASSERT_EQ(at(simple, point), at(map.indices, point))
          << "seed " << seed << ": " << map.text() << "\n  became " << show(simple[0]);
    }
  }
  EXPECT_GT(changed, 800);
}

TEST(iter_map_enumeration, claims_hold_at_all_points) {
  int bijections = 0;
  int surjections = 0;
  int padded = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const RandomMap map(seed);
    const std::vector<Environment> points = map.points();
    Analyzer analyzer;
    for (const IterMapLevel level :
         {IterMapLevel::bijective, IterMapLevel::surjective, IterMapLevel::no_check}) {
      const IterMapResult result = detect_iter_map(
          map.indices, map.iterators, {.predicate = map.predicate, .level = level}, analyzer);
      if (!result.ok()) continue;
      std::vector<Expr> forms;
      for (const IterSumExpr& index : result.indices) {
        forms.push_back(normalize_iter_map_to_expr(index, i32, analyzer));
      }
      std::set<Point> image;
      for (const Environment& point : points) {
        const Point expected = at(map.indices, point);
        ASSERT_EQ(at(forms, point), expected) << "seed " << seed << ": " << map.text();
        ASSERT_TRUE(is_in_box(result, expected)) << "seed " << seed << ": " << map.text();
        ASSERT_EQ(evaluate_scalar(result.padding_predicate, point), 0)
            << "seed " << seed << ": " << map.text() << show(result.padding_predicate);
        image.insert(expected);
      }
      if (result.is_injective) {
        ASSERT_EQ(image.size(), points.size()) << "seed " << seed << ": " << map.text();
        expect_inverse(map, result, forms, points);
        if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ": " << map.text();
      }
      const auto size = static_cast<std::int64_t>(image.size());
      if (level == IterMapLevel::bijective) {
        ++bijections;
        ASSERT_EQ(size, box_size(result)) << "seed " << seed << ": " << map.text();
        ASSERT_EQ(image.size(), points.size()) << "seed " << seed << ": " << map.text();
      } else if (level == IterMapLevel::surjective) {
        const bool is_padded = !is_const_int(result.padding_predicate, 0);
        ++(is_padded ? padded : surjections);
        if (!is_padded) {
          ASSERT_EQ(size, box_size(result)) << "seed " << seed << ": " << map.text();
        }
      }
    }
  }
  EXPECT_GT(bijections, 80);
  EXPECT_GT(surjections, 250);
  EXPECT_GT(padded, 60);
}

TEST(iter_map_enumeration, parts_of_a_subspace_recombine) {
  int divided = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const RandomMap map(seed);
    Analyzer analyzer;
    std::vector<Ptr<Var>> inner;
    for (std::size_t i = seed % 3; i < map.iterators.size(); ++i) {
      inner.push_back(map.iterators[i].var);
    }
    const SubspaceDivision division =
        subspace_divide(map.indices, map.iterators, inner, {.predicate = map.predicate}, analyzer);
    if (!division.ok()) continue;
    ++divided;
    for (std::size_t i = 0; i < map.indices.size(); ++i) {
      const SubspacePart& part = division.parts[i];
      const Expr outer = normalize_iter_map_to_expr(part.outer, i32, analyzer);
      const Expr within = normalize_iter_map_to_expr(part.inner, i32, analyzer);
      for (const Iterator& iterator : map.iterators) {
        const bool is_inner = std::any_of(inner.begin(), inner.end(), [&](const Ptr<Var>& var) {
          return var.same_as(iterator.var);
        });
        ASSERT_FALSE(uses_variable(is_inner ? outer : within, iterator.var))
            << "seed " << seed << ": " << map.text() << show(outer) << "; " << show(within);
      }
      for (const Environment& point : map.points()) {
        const std::int64_t high = *evaluate_scalar(outer, point);
        const std::int64_t low = *evaluate_scalar(within, point);
        ASSERT_EQ(high * part.inner_extent.constant + low, evaluate_scalar(map.indices[i], point))
            << "seed " << seed << ": " << map.text() << show(outer) << "; " << show(within);
        ASSERT_TRUE(0 <= high && high < part.outer_extent.constant) << map.text();
        const std::int64_t offset = low - part.inner.base.constant;
        ASSERT_TRUE(0 <= offset && offset < part.inner_extent.constant) << map.text();
      }
    }
  }
  EXPECT_GT(divided, 150);
}

}  // namespace
}  // namespace loopsmith
