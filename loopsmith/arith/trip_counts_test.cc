// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/trip_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith::arith {
namespace {

Ptr<For> loop_over(const Ptr<Var>& variable, Expr extent) {
  return Ptr<For>::from(for_loop(variable, 0, std::move(extent), make(Evaluate{.value = 0})));
}

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

TEST(trip_counts, conditions_of_parts_hold_at_the_start) {
  const Ptr<Var> i = var("i"), j = var("j");
  const Expr n = var("n");
  const Ptr<For> outer = loop_over(i, floordiv(n + 3, 4)), inner = loop_over(j, 4);
  const std::vector<const For*> loops{outer.get(), inner.get()};
  EXPECT_TRUE(holds_if_run(i * 4 + j < n, loops));
  EXPECT_FALSE(holds_if_run(i * 4 + j < n - 1, loops));
  EXPECT_FALSE(holds_if_run(i > 0, loops));
}

TEST(trip_counts, what_holds_at_the_start_says_that_there_is_one) {
  const Ptr<Var> i = var("i"), k = var("k");
  const Expr n = var("n");
  const Ptr<For> sum = loop_over(k, n), part = loop_over(k, 8);
  const std::vector<const For*> loops{sum.get()}, parts{part.get()};
  EXPECT_TRUE(is_const_int(holds_at_start(k < n, loops), 1));
  EXPECT_TRUE(structural_equal(holds_at_start(k < i, loops), 0 < Expr(i) && n >= 1));
  EXPECT_TRUE(structural_equal(holds_at_start(k < i, parts), 0 < Expr(i)));
}

}  // namespace
}  // namespace loopsmith::arith
