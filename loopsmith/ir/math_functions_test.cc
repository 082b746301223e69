// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/math_functions.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

TEST(math_functions, are_all_that_give_a_number_lane_by_lane) {
  const Op others[] = {op("reinterpret"), op("dp4a"), op("isnullptr")};
  for (std::uint16_t i = 0; i < detail::op_count; ++i) {
    const OpInfo& info = Op(i).info();
    const bool is_element_wise = info.element_wise && info.result <= Result::first;
    if (!is_element_wise) continue;
    ASSERT_TRUE(find_math_function(Op(i))) << info.name;
    EXPECT_EQ(find_math_function(Op(i))->op, Op(i));
  }
  for (const Op other : others) EXPECT_FALSE(find_math_function(other)) << other.name();
}

TEST(partial_derivatives, are_known_of_all_functions_of_floats) {
  for (const MathFunction& function : all_math_functions()) {
    const bool is_of_floats =
        function.operands != Operands::integers && function.op.info().result == Result::first;
    EXPECT_EQ(function.partials != nullptr, is_of_floats) << function.op.name();
  }
}

TEST(partial_derivatives, are_one_for_each_argument) {
  for (const MathFunction& function : all_math_functions()) {
    if (!function.partials) continue;
    const Op op = function.op;
    const std::vector<Expr> args(static_cast<std::size_t>(op.info().arity), var("x", f64));
    const auto partials = partial_derivatives(call(op, args));
    ASSERT_TRUE(partials) << op.name();
    EXPECT_EQ(partials->size(), args.size()) << op.name();
    for (const Expr& partial : *partials) {
      const bool is_fit = !partial.defined() || partial.dtype() == f64;
      EXPECT_TRUE(is_fit) << op.name();
    }
  }
}

TEST(partial_derivatives, are_none_of_what_is_no_call) {
  EXPECT_FALSE(partial_derivatives(var("x", f64)));
  EXPECT_FALSE(partial_derivatives(call(op("isnan"), {var("x", f64)})));
  EXPECT_FALSE(partial_derivatives(call(op("popcount"), {var("x", i32)})));
}

}  // namespace
}  // namespace loopsmith
