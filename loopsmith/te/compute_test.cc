// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/compute.h"

#include <gtest/gtest.h>

#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

const ComputeOp& op_of(const Tensor& tensor) {
  return *tensor->op.as<ComputeOp>();
}

TEST(compute, has_an_axis_for_each_dimension) {
  const auto n = var("n", i64);
  const Tensor A = placeholder({n, 8}, f32, "A");
  const Tensor B = compute({n, 8}, [&](Expr i, Expr j) { return A(i, j); }, "B");
  ASSERT_EQ(op_of(B).axis.size(), 2u);
  EXPECT_EQ(op_of(B).axis[0]->var->name, "i0");
  EXPECT_EQ(op_of(B).axis[0]->var->dtype, i64);
  EXPECT_EQ(op_of(B).axis[1]->var->dtype, i32);
  EXPECT_TRUE(B.axis(0)->dom->extent.same_as(n));
  EXPECT_EQ(B.dtype(), f32);
}

TEST(compute, names_its_axes) {
  const Tensor B = compute({2, 3}, [](Expr y, Expr x) { return y + x; }, "B", {.axes = {"y", "x"}});
  EXPECT_EQ(B.axis(1)->var->name, "x");
  EXPECT_EQ(testing::refusal([] {
              compute({2, 3}, [](Expr y, Expr x) { return y + x; }, "B", {.axes = {"y"}});
            }),
            "one_name_an_axis: compute B: 1 names for 2 axes");
}

TEST(compute, takes_the_indices_as_a_vector) {
  const Tensor A = placeholder({2, 3, 4}, f32, "A");
  const Tensor B = compute(A.shape(), [&](const std::vector<Expr>& i) { return A(i); }, "B");
  EXPECT_EQ(B.ndim(), 3u);
}

TEST(compute, has_an_output_for_each_value) {
  const Tensor A = placeholder({4}, f32, "A");
  const auto both = compute(
      {4}, [&](Expr i) { return std::vector<Expr>{A(i), loopsmith::cast(i32, A(i))}; }, "B");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].name(), "B.v1");
  EXPECT_EQ(both[1].dtype(), i32);
  EXPECT_TRUE(both[0]->op.same_as(both[1]->op));
}

TEST(compute, may_have_no_dimension) {
  const Tensor A = placeholder({4}, f32, "A");
  const Tensor first = compute({}, [&] { return A(0); }, "first");
  EXPECT_EQ(first.ndim(), 0u);
}

TEST(compute, keeps_its_tag_and_attributes) {
  const Tensor B = compute({4}, [](Expr i) { return i; }, "B",
                           {.tag = "injective", .attrs = {{"level", Expr(3)}}});
  EXPECT_EQ(op_of(B).tag, "injective");
  EXPECT_EQ(op_of(B).attrs.get_int("level", 0), 3);
}

TEST(compute, refuses_functions_that_do_not_fit) {
  EXPECT_EQ(testing::refusal([] { compute({2, 3}, [](Expr i) { return i; }, "B"); }),
            "one_parameter_a_dimension: compute B: the function takes 1 indices, the shape has 2 "
            "dimensions");
  EXPECT_EQ(testing::refusal([] { compute({2}, [](Expr) { return Expr(); }, "B"); }),
            "value_is_expression: compute B: a value is missing");
  EXPECT_EQ(testing::refusal([] { compute({2}, [](Expr) { return std::vector<Expr>(); }, "B"); }),
            "compute_has_value: compute B: the function gives no value");
  EXPECT_EQ(testing::refusal([] { compute({2}, [](Expr) { return string_imm("x"); }, "B"); }),
            "tensor_of_numbers: compute B: a value is handle, not a number");
  EXPECT_EQ(testing::refusal([] { compute({-2}, [](Expr i) { return i; }, "B"); }),
            "shape_is_not_negative: compute B: dimension 0 of the shape is -2, negative");
}

TEST(compute, reduces_on_top_of_a_value_only) {
  const Tensor A = placeholder({4, 8}, f32, "A");
  const IterVar k = reduce_axis(0, 8, "k");
  const IterVar l = reduce_axis(0, 4, "l");
  EXPECT_EQ(
      testing::refusal([&] { compute({4}, [&](Expr i) { return sum(A(i, k), k) + 1; }, "B"); }),
      "reduction_is_on_top: compute B: a reduction stands inside another expression");
  EXPECT_EQ(testing::refusal([&] { compute({}, [&] { return sum(sum(A(l, k), k), l); }, "B"); }),
            "reduction_is_on_top: compute B: a reduction stands inside another expression");
  EXPECT_EQ(
      testing::refusal([&] { compute({4}, [&](Expr i) { return sum(A(i, k), {k, k}); }, "B"); }),
      "axis_occurs_once: compute B: it reduces twice over axis k");
}

TEST(compute, reduces_all_outputs_at_once) {
  const Tensor A = placeholder({4, 8}, f32, "A");
  const IterVar k = reduce_axis(0, 8, "k");
  const auto outputs = [&](auto values) { compute({4}, values, "B"); };
  EXPECT_EQ(testing::refusal([&] {
              outputs([&](Expr i) { return std::vector<Expr>{sum(A(i, k), k), A(i, 0)}; });
            }),
            "all_outputs_reduce: compute B: some outputs are reductions, others are not");
  EXPECT_EQ(testing::refusal([&] {
              outputs([&](Expr i) { return std::vector<Expr>{sum(A(i, k), k), max(A(i, k), k)}; });
            }),
            "outputs_share_reduction: compute B: its outputs come from different reductions");
  EXPECT_EQ(testing::refusal([&] { outputs([&](Expr i) { return argmax(k, A(i, k), k)[0]; }); }),
            "outputs_hold_whole_tuple: compute B: 1 outputs for a reduction of 2 values");
  EXPECT_EQ(testing::refusal([&] { outputs([&](Expr i) { return argmax(k, A(i, k), k); }); }), "");
}

TEST(compute, points_at_its_line_when_it_refuses) {
  try {
    compute({2}, [](Expr) { return std::vector<Expr>(); }, "B");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.span().line, static_cast<std::uint32_t>(__LINE__ - 3));
  }
}

}  // namespace
}  // namespace loopsmith::te
