// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/gradient.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

const ComputeOp& compute_of(const Tensor& tensor) {
  return *tensor->op.as<ComputeOp>();
}

TEST(gradient, of_a_matmul_sums_over_the_axis_that_is_free) {
  const Expr n = size_var("n");
  const Tensor A = placeholder({n, 8}, f32, "A");
  const Tensor B = placeholder({8, 4}, f32, "B");
  const IterVar k = reduce_axis(0, 8, "k");
  const Tensor C = compute({n, 4}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); }, "C");
  const Tensor dC = placeholder({n, 4}, f32, "dC");
  const auto gradients = gradient(C, {A, B}, dC);
  const auto over = compute_of(gradients[1]).reduce_axis();
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(over[0]->dom->extent.same_as(n));
  EXPECT_TRUE(is_const_int(compute_of(gradients[1]).body[0].as<Reduce>()->condition, 1));
}

TEST(gradient, of_rows_read_by_quotient_and_remainder_has_no_sum) {
  const Tensor A = placeholder({3, 4}, f32, "A");
  const Tensor B = compute(
      {12}, [&](Expr i) { return A(floordiv(i, 4), floormod(i, 4)) * A(floordiv(i, 4), 0); }, "B");
  const Tensor head = placeholder({12}, f32, "head");
  const Tensor dA = gradient(B, {A}, head)[0];
  EXPECT_TRUE(compute_of(dA).reduce_axis().empty());
  EXPECT_EQ(post_order({dA}).size(), 4U);  // A, head, the sum of column 0, and the whole.
}

TEST(gradient, is_of_floats) {
  const Tensor I = placeholder({3}, i32, "I");
  const Tensor F = placeholder({3}, f32, "F");
  EXPECT_EQ(testing::refusal([&] { gradient(I, {F}); }),
            "gradient_is_of_floats: gradient: the output I is int32: only floating-point numbers "
            "have derivatives");
  EXPECT_EQ(testing::refusal([&] { gradient(F, {Tensor()}); }),
            "tensor_is_given: gradient: the input is missing");
}

}  // namespace
}  // namespace loopsmith::te
