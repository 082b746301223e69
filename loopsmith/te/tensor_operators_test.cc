// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/tensor_operators.h"

#include <gtest/gtest.h>

#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

const Expr& body_of(const Tensor& tensor) {
  return tensor->op.as<ComputeOp>()->body[0];
}

TEST(tensor_operators, work_element_by_element) {
  const auto n = var("n");
  const Tensor A = placeholder({n, 8}, f32, "A");
  const Tensor sum = A + A;
  EXPECT_EQ(sum.name(), "T_add");
  EXPECT_TRUE(sum.shape()[0].same_as(n));
  EXPECT_TRUE(body_of(sum).is<Add>());
  EXPECT_TRUE(body_of(A - A).is<Sub>());
  EXPECT_TRUE(body_of(A / A).is<Div>());
  EXPECT_EQ((-A).name(), "T_negative");
}

TEST(tensor_operators, take_numbers_on_either_side) {
  const Tensor A = placeholder({8}, f32, "A");
  const auto m = var("m");
  EXPECT_EQ((A * 2).dtype(), f32);
  EXPECT_TRUE(body_of(2 - A).as<Sub>()->a.is<FloatImm>());
  EXPECT_TRUE(body_of(A + m).as<Add>()->b.is<Cast>());
}

TEST(tensor_operators, stretch_extents_of_one) {
  const auto n = var("n");
  const Tensor A = placeholder({n, 1, 8}, f32, "A");
  const Tensor B = placeholder({5, 1}, f32, "B");
  const Tensor C = A * B;
  ASSERT_EQ(C.ndim(), 3u);
  EXPECT_TRUE(C.shape()[0].same_as(n));
  EXPECT_TRUE(is_const_int(C.shape()[1], 5));
  EXPECT_TRUE(is_const_int(C.shape()[2], 8));
  const auto* left = body_of(C).as<Mul>()->a.as<ProducerLoad>();
  EXPECT_TRUE(is_const_int(left->indices[1], 0));
  EXPECT_TRUE(left->indices[2].same_as(C.axis(2)->var));
}

TEST(tensor_operators, know_that_equal_sizes_are_equal) {
  const auto n = var("n");
  const Tensor A = placeholder({Expr(n) + 1}, f32, "A");
  const Tensor B = placeholder({Expr(1) + n}, f32, "B");
  EXPECT_EQ(testing::refusal([&] { A + B; }), "");
}

TEST(tensor_operators, refuse_shapes_that_do_not_fit) {
  const auto n = var("n");
  const Tensor A = placeholder({4, 8}, f32, "A");
  const Tensor B = placeholder({4, 7}, f32, "B");
  const Tensor C = placeholder({n}, f32, "C");
  EXPECT_EQ(testing::refusal([&] { A + B; }),
            "shapes_broadcast: A and B do not broadcast: their extents 0 from the last differ (8 "
            "and 7)");
  EXPECT_EQ(testing::refusal([&] { A + C; }),
            "shapes_broadcast: A and C do not broadcast: their extents 0 from the last differ (8 "
            "and symbolic)");
}

TEST(tensor_operators, cast) {
  const Tensor A = placeholder({4}, f32, "A");
  EXPECT_EQ(cast(f16, A).dtype(), f16);
  EXPECT_EQ(cast(f16, A).name(), "T_cast");
}

}  // namespace
}  // namespace loopsmith::te
