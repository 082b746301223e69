// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/trip_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith::arith {
namespace {

TEST(trip_counts, run_with_others) {
  const Expr n = var("n"), m = var("m"), size = size_var("s");
  const std::vector<Expr> around{n, m};
  EXPECT_TRUE(runs_with(3, {}));
  EXPECT_FALSE(runs_with(0, {}));
  EXPECT_FALSE(runs_with(n, {}));
  EXPECT_TRUE(runs_with(size + 1, {}));
  EXPECT_FALSE(runs_with(size, {}));
  EXPECT_TRUE(runs_with(n, around));
  EXPECT_TRUE(runs_with(m + 2, around));
  EXPECT_FALSE(runs_with(m - 1, around));
  EXPECT_TRUE(runs_with(floordiv(n + 3, 4), around));
  EXPECT_FALSE(runs_with(floordiv(n, 4), around));
}

TEST(trip_counts, parts_run_where_their_whole_does) {
  const Expr n = var("n");
  const std::vector<Expr> parts{floordiv(n + 3, 4)};
  EXPECT_TRUE(runs_with(n, parts));
  EXPECT_FALSE(runs_with(n - 1, parts));
}

TEST(trip_counts, conditions_hold_unless_parts_are_empty) {
  const Expr i = var("i"), n = var("n");
  const std::vector<Expr> parts{floordiv(n + 3, 4), Expr(4)};
  EXPECT_TRUE(is_const_int(unless_empty(0 < n, parts), 1));
  EXPECT_TRUE(structural_equal(unless_empty(1 < n, parts), 1 < n));
  EXPECT_TRUE(structural_equal(unless_empty(0 < i, parts), 0 < i));
}

}  // namespace
}  // namespace loopsmith::arith
