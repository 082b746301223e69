// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/vector_lanes.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

const Expr vscale = call(op("vscale"), {});

TEST(vector_lanes, are_constants_or_multiples_of_vscale) {
  EXPECT_EQ(lanes_of(4), 4);
  EXPECT_EQ(lanes_of(vscale * 4), scalable_lanes | 4);
  EXPECT_EQ(lanes_of(make(Mul{.a = 4, .b = vscale})), scalable_lanes | 4);
  EXPECT_EQ(lanes_of(vscale), scalable_lanes | 1);
  EXPECT_EQ(lanes_of(vscale + 3), std::nullopt);
  EXPECT_EQ(lanes_of(40000), std::nullopt);
  EXPECT_EQ(lanes_of(lanes_expr(scalable_lanes | 4)), scalable_lanes | 4);
}

TEST(vector_lanes, are_part_of_the_type) {
  const Expr ramp = make(Ramp{.base = var("x"), .stride = 1, .lanes = scalable_lanes | 4});
  EXPECT_TRUE(ramp.dtype().is_scalable());
  EXPECT_EQ(to_string(ramp.dtype()), "int32xvscalex4");
  EXPECT_EQ(ramp.dtype().element(), i32);
}

PrimFunc evaluating(const Expr& value) {
  PrimFunc func;
  func.body = make(Evaluate{.value = value});
  return func;
}

TEST(vector_lanes, are_constants_on_a_machine_whose_vscale_is_known) {
  const Expr vector = make(Broadcast{.value = 1, .lanes = scalable_lanes | 4});
  const Expr ramp = make(Ramp{.base = var("x"), .stride = 1, .lanes = scalable_lanes | 4});
  const Expr sum = cast(i64.with_lanes(scalable_lanes | 4), ramp + vector);
  const auto fixed = with_vscale(make(evaluating(sum)), 2);
  const Expr value = fixed->body.as<Evaluate>()->value;
  EXPECT_EQ(to_string(value.dtype()), "int64x8");
  EXPECT_EQ(script(value),
            "x = T.int32()\nT.Cast(\"int64x8\", T.Ramp(x, 1, 8) + T.Broadcast(1, 8))");
  const auto count = with_vscale(make(evaluating(vscale * 4)), 2);
  EXPECT_TRUE(is_const_int(count->body.as<Evaluate>()->value, 8));
}

TEST(vector_lanes, of_functions_without_vscale_stay) {
  const auto func = make(evaluating(make(Broadcast{.value = 1, .lanes = 4})));
  EXPECT_TRUE(with_vscale(func, 2).same_as(func));
}

TEST(vector_lanes, are_at_most_what_a_type_holds) {
  const Expr vector = make(Broadcast{.value = 1, .lanes = scalable_lanes | 30000});
  EXPECT_EQ(testing::refusal([&] { with_vscale(make(evaluating(vector)), 4); }),
            "lanes_fit: a vector of int32xvscalex30000 lanes has 120000 of them here, more than "
            "32767");
}

}  // namespace
}  // namespace loopsmith
