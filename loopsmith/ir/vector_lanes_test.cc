// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/vector_lanes.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/testing.h"

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

TEST(vector_lanes, that_only_the_machine_knows_are_not_run) {
  PrimFunc func;
  func.body = make(Evaluate{.value = make(Broadcast{.value = 1, .lanes = scalable_lanes | 4})});
  EXPECT_EQ(
      testing::refusal([&] { refuse_scalable_vectors(make(std::move(func)), ErrorKind::lower); }),
      "lanes_are_constant: main: a vector of int32xvscalex4 lanes is not run here");
}

}  // namespace
}  // namespace loopsmith
