// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/calculate.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(calculate, follows_other_decisions) {
  const auto func = matmul();
  Schedule sch(func, 7);
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const ExprRV lanes = sample_categorical(sch, {2, 4}, {0.5, 0.5}, 0);
  split(sch, loops[1], {infer, calculate(sch, "*", lanes, 8)});
  EXPECT_NE(body_of(sch).find("in T.grid(128, 6, 16, 64)"), std::string::npos) << body_of(sch);
  expect_replays(sch, func);
  Schedule other(func);
  sch.trace().with_decision(2, Argument(1), false).apply_to(other);
  EXPECT_NE(body_of(other).find("in T.grid(128, 3, 32, 64)"), std::string::npos) << body_of(other);
}

TEST(calculate, knows_all_operations) {
  Schedule sch(matmul());
  const auto value = [&](const char* operation, int a, int b) {
    return sch.get(calculate(sch, operation, a, b));
  };
  EXPECT_EQ(value("+", -7, 2), -5);
  EXPECT_EQ(value("-", -7, 2), -9);
  EXPECT_EQ(value("*", -7, 2), -14);
  EXPECT_EQ(value("//", -7, 2), -4);
  EXPECT_EQ(value("%", -7, 2), 1);
  EXPECT_EQ(value("min", -7, 2), -7);
  EXPECT_EQ(value("max", -7, 2), 2);
}

TEST(calculate, refuses_what_is_no_number) {
  Schedule sch(matmul());
  EXPECT_EQ(error_of([&] { calculate(sch, "/", 1, 2); }),
            "name_is_known: calculate: there is no operation /");
  EXPECT_EQ(error_of([&] { calculate(sch, "+", 1, infer); }),
            "argument_has_type: calculate: an operand of + is missing");
  EXPECT_EQ(error_of([&] { calculate(sch, "//", 1, 0); }),
            "number_is_in_range: calculate: 1 // 0 is no number of 64 bits");
}

}  // namespace
}  // namespace loopsmith
