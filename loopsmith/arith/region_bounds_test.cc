// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/region_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/evaluate_test.h"
#include "loopsmith/arith/show_test.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::evaluate_scalar;
using testing::refusal;
using testing::show;

std::string text(const IntBox& box) {
  std::string result;
  const auto end = [](const Expr& value) { return value.defined() ? show(value) : "open"; };
  for (const IntSet& set : box) {
    result += fmt::format("[{}, {}]", end(set.min_value()), end(set.max_value()));
  }
  return result;
}
std::string text(const std::optional<IntBox>& box) {
  return box ? text(*box) : "unknown";
}
IntSet interval(const Expr& low, const Expr& high) {
  return {low, high};
}

class RegionBounds : public ::testing::Test {
 protected:
  std::string strict(const std::vector<Ptr<Range>>& region, const Expr& predicate = nullptr) {
    return text(estimate_region_strict_bound(region, loops, predicate, analyzer));
  }
  std::string upper(const std::vector<Ptr<Range>>& region, const Expr& predicate = nullptr) {
    return text(estimate_region_upper_bound(region, loops, predicate, analyzer));
  }

  Ptr<Var> i = var("i"), j = var("j"), n = size_var("n");
  std::vector<Iterator> loops{{i, 0, 8}, {j, 0, 16}};
  Analyzer analyzer;
};

TEST_F(RegionBounds, are_exact_where_regions_leave_no_holes) {
  EXPECT_EQ(strict({range(i, 1), range(j, 2)}), "[0, 7][0, 16]");
  EXPECT_EQ(strict({range(i * 16 + j + 3, 1)}), "[3, 130]");
  EXPECT_EQ(strict({range(i * 4, 4)}), "[0, 31]");
  EXPECT_EQ(strict({range(i * 4, 6)}), "[0, 33]");
  EXPECT_EQ(strict({range(i * 4, 3)}), "unknown");
  EXPECT_EQ(strict({range(i, 1), range(i, 1)}), "unknown");
  EXPECT_EQ(strict({range(0, i)}), "unknown");
  EXPECT_EQ(strict({range(n, n)}), "[n, ((n * 2) - 1)]");
  EXPECT_EQ(strict({range(i * 16 + j, 1)}, i * 16 + j < 100), "[0, 99]");
  EXPECT_EQ(text(estimate_region_lower_bound(std::vector{range(i, 1)}, loops, nullptr, analyzer)),
            "[0, 7]");
}

TEST_F(RegionBounds, may_fall_and_may_be_cut_at_their_ends) {
  EXPECT_EQ(strict({range(1 - i, 4)}), "[-6, 4]");
  EXPECT_EQ(strict({range(20 - i * 4, 16), range(j, 1)}), "[-8, 35][0, 15]");
  EXPECT_EQ(strict({range(20 - i * 4, 3)}), "unknown");
  EXPECT_EQ(strict({range(floordiv(i + j, 3), 1)}), "[0, 7]");
  EXPECT_EQ(strict({range(floordiv(j + 2, 5), 1)}), "[0, 3]");
  EXPECT_EQ(strict({range(floordiv(j + 2, 5), 1), range(floormod(j + 2, 5), 1)}), "unknown");
}

TEST_F(RegionBounds, from_above_hold_for_any_region) {
  EXPECT_EQ(upper({range(i, 1), range(i, 1)}), "[0, 7][0, 7]");
  EXPECT_EQ(upper({range(i * 4, 3)}), "[0, 30]");
  EXPECT_EQ(upper({range(i * j, 1), range(j, 1)}), "[0, 105][0, 15]");
  EXPECT_EQ(upper({range(0, i)}), "[0, 6]");
  const Expr odd = call(op("bitwise_xor"), {Expr(i), Expr(j)});
  EXPECT_EQ(upper({range(odd, 1)}), "[open, open]");
}

TEST_F(RegionBounds, unions_grow_where_intervals_overlap) {
  const std::vector<IntSet> sets{interval(0, 3), interval(8, 9), interval(4, 7), interval(20, 30)};
  EXPECT_EQ(text(IntBox{union_lower_bound(sets, analyzer)}), "[0, 9]");
  const std::vector<IntSet> symbolic{interval(0, n - 1), interval(n, n + 3)};
  EXPECT_EQ(text(IntBox{union_lower_bound(symbolic, analyzer)}), "[0, (n + 3)]");
  EXPECT_TRUE(union_lower_bound({}, analyzer).is_nothing());
}

TEST_F(RegionBounds, several_boxes_cover_one_together) {
  const IntBox square{interval(0, 9), interval(0, 9)};
  const IntBox left{interval(0, 9), interval(0, 4)};
  const IntBox top{interval(0, 4), interval(0, 9)};
  const IntBox corner{interval(5, 9), interval(5, 12)};
  EXPECT_FALSE(is_covered(square, std::vector<IntBox>{left, top}, analyzer));
  EXPECT_TRUE(is_covered(square, std::vector<IntBox>{left, top, corner}, analyzer));
  const IntBox whole{interval(0, n - 1)};
  EXPECT_TRUE(is_covered(whole, std::vector<IntBox>{IntBox{interval(0, n)}}, analyzer));
  EXPECT_FALSE(is_covered(whole, std::vector<IntBox>{IntBox{interval(1, n)}}, analyzer));
  EXPECT_TRUE(is_covered({interval(5, 4)}, {}, analyzer));
  EXPECT_TRUE(is_covered(whole, std::vector<IntBox>{IntBox{IntSet()}}, analyzer));
  EXPECT_EQ(refusal([&] { is_covered(square, std::vector<IntBox>{whole}, analyzer); }),
            "regions_have_one_rank: is_covered: a region has 2 dimensions, another 1");
}

TEST_F(RegionBounds, coverage_agrees_with_enumeration) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  int covered = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const auto box = [&] {
      IntBox result;
      for (int d = 0; d < 2; ++d) {
        const int low = pick(0, 5);
        result.push_back(interval(low, low + pick(0, 5)));
      }
      return result;
    };
    const auto has = [](const IntBox& set, int a, int b) {
      const auto in = [](const IntSet& s, int v) {
        return *as_int(s.min_value()) <= v && v <= *as_int(s.max_value());
      };
      return in(set[0], a) && in(set[1], b);
    };
    const IntBox wanted = box();
    std::vector<IntBox> covers;
    for (int k = pick(1, 4); k > 0; --k) covers.push_back(box());
    bool expected = true;
    for (int a = 0; a < 12; ++a) {
      for (int b = 0; b < 12; ++b) {
        const bool is_in = std::any_of(covers.begin(), covers.end(),
                                       [&](const IntBox& set) { return has(set, a, b); });
        expected = expected && (is_in || !has(wanted, a, b));
      }
    }
    covered += expected ? 1 : 0;
    ASSERT_EQ(is_covered(wanted, covers, analyzer), expected);
  }
  EXPECT_GT(covered, 100);
}

TEST_F(RegionBounds, estimates_agree_with_enumeration) {
  std::mt19937 random(9);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  int exact = 0;
  for (int trial = 0; trial < 800; ++trial) {
    const std::vector<Iterator> small{{i, pick(0, 2), pick(1, 5)}, {j, 0, pick(1, 6)}};
    const auto start = [&] {
      const Expr sum = i * pick(0, 6) + j * pick(0, 3) + pick(-2, 3);
      return pick(0, 2) == 0 ? floordiv(sum, pick(1, 4)) : sum;
    };
    std::vector<Ptr<Range>> region;
    for (int d = pick(1, 2); d > 0; --d) region.push_back(range(start(), pick(1, 4)));
    const Expr predicate = pick(0, 1) == 0 ? Expr(true) : i * 2 + j < pick(3, 12);
    std::set<std::vector<std::int64_t>> reached;
    for (std::int64_t a = 0; a < *as_int(small[0].extent); ++a) {
      for (std::int64_t b = 0; b < *as_int(small[1].extent); ++b) {
        const testing::Environment point{{i.get(), *as_int(small[0].min) + a}, {j.get(), b}};
        if (*evaluate_scalar(predicate, point) == 0) continue;
        std::vector<std::vector<std::int64_t>> elements{{}};
        for (const Ptr<Range>& side : region) {
          std::vector<std::vector<std::int64_t>> longer;
          for (const auto& element : elements) {
            for (std::int64_t k = 0; k < *as_int(side->extent); ++k) {
              longer.push_back(element);
              longer.back().push_back(*evaluate_scalar(side->min, point) + k);
            }
          }
          elements = std::move(longer);
        }
        reached.insert(elements.begin(), elements.end());
      }
    }
    const auto strict = estimate_region_strict_bound(region, small, predicate, analyzer);
    const IntBox above = estimate_region_upper_bound(region, small, predicate, analyzer);
    for (const auto& element : reached) {
      for (std::size_t d = 0; d < region.size(); ++d) {
        ASSERT_LE(*as_int(above[d].min_value()), element[d]);
        ASSERT_GE(*as_int(above[d].max_value()), element[d]);
      }
    }
    if (!strict) continue;
    ++exact;
    std::size_t size = 1;
    for (const IntSet& side : *strict) {
      size *= static_cast<std::size_t>(*as_int(side.max_value()) - *as_int(side.min_value()) + 1);
    }
    ASSERT_EQ(size, reached.size());
  }
  EXPECT_GT(exact, 150);
}

}  // namespace
}  // namespace loopsmith
