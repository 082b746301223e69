// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/derivatives.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

TEST(partial_derivatives, are_known_of_all_functions_of_floats) {
  const Op bits[] = {op("popcount"), op("clz"), op("bitwise_not"), op("likely")};
  for (std::uint16_t i = op("exp").index(); i <= op("fma").index(); ++i) {
    EXPECT_TRUE(has_derivatives(Op(i))) << Op(i).name();
  }
  for (const Op other : bits) EXPECT_FALSE(has_derivatives(other)) << other.name();
}

TEST(partial_derivatives, are_one_for_each_argument) {
  for (std::uint16_t i = op("exp").index(); i <= op("fma").index(); ++i) {
    const std::vector<Expr> args(static_cast<std::size_t>(Op(i).info().arity), var("x", f64));
    const auto partials = partial_derivatives(call(Op(i), args));
    ASSERT_TRUE(partials) << Op(i).name();
    EXPECT_EQ(partials->size(), args.size()) << Op(i).name();
    for (const Expr& partial : *partials) {
      const bool is_fit = !partial.defined() || partial.dtype() == f64;
      EXPECT_TRUE(is_fit) << Op(i).name();
    }
  }
}

TEST(partial_derivatives, are_none_of_what_is_no_call) {
  EXPECT_FALSE(partial_derivatives(var("x", f64)));
  EXPECT_FALSE(partial_derivatives(call(op("isnan"), {var("x", f64)})));
}

}  // namespace
}  // namespace loopsmith
