// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/tensor.h"

#include <gtest/gtest.h>

#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

TEST(placeholder, has_shape_type_and_name) {
  const auto n = var("n");
  const Tensor A = placeholder({n, 8}, f16, "A");
  EXPECT_EQ(A.name(), "A");
  EXPECT_EQ(A.dtype(), f16);
  ASSERT_EQ(A.ndim(), 2u);
  EXPECT_TRUE(A.shape()[0].same_as(n));
}

TEST(placeholder, refuses_shapes_that_no_tensor_has) {
  EXPECT_EQ(testing::refusal([] { placeholder({4, -1}, f32, "A"); }),
            "shape_is_not_negative: placeholder A: dimension 1 of the shape is -1, negative");
  EXPECT_EQ(testing::refusal([] { placeholder({float_imm(f32, 4)}, f32, "A"); }),
            "shape_is_integer: placeholder A: dimension 0 of the shape is float32, not an integer");
  EXPECT_EQ(testing::refusal([] { placeholder({4, Expr(true)}, f32, "A"); }),
            "shape_is_integer: placeholder A: dimension 1 of the shape is bool, not an integer");
  EXPECT_EQ(testing::refusal([] { placeholder({Expr()}, f32, "A"); }),
            "shape_is_integer: placeholder A: dimension 0 of the shape is missing, not an integer");
  const Expr huge = int_imm(i64, std::int64_t{1} << 40);
  EXPECT_EQ(testing::refusal([&] { placeholder({huge, huge}, f32, "A"); }),
            "size_fits_int64: placeholder A: the shape overflows, it has more than 2^63 bytes");
  EXPECT_EQ(testing::refusal([] { placeholder({4}, handle_type, "A"); }),
            "tensor_of_numbers: placeholder A: its elements are handle, not numbers");
}

TEST(placeholder, may_be_empty_whatever_its_other_extents) {
  const Expr huge = int_imm(i64, std::int64_t{1} << 40);
  EXPECT_EQ(testing::refusal([&] { placeholder({huge, huge, 0}, f32, "A"); }), "");
}

TEST(tensor, is_read_by_one_index_a_dimension) {
  const Tensor A = placeholder({4, 8}, f32, "A");
  const auto i = var("i");
  const Expr element = A(i, 7);
  ASSERT_TRUE(element.is<ProducerLoad>());
  EXPECT_EQ(element.dtype(), f32);
  EXPECT_TRUE(element.as<ProducerLoad>()->producer.same_as(A));

  EXPECT_EQ(testing::refusal([&] { A(i); }),
            "one_index_a_dimension: tensor A has 2 dimensions, 1 indices were given");
  EXPECT_EQ(testing::refusal([&] { A(i, float_imm(f32, 1)); }),
            "index_is_integer: tensor A: index 1 is float32, not an integer");
  EXPECT_EQ(testing::refusal([&] { A(i, 8); }),
            "index_in_range: tensor A: index 1 is 8, out of the range of extent 8");
  EXPECT_EQ(testing::refusal([&] { A(-1, i); }),
            "index_in_range: tensor A: index 0 is -1, out of the range of extent 4");
}

TEST(tensor, without_dimensions_is_a_number) {
  const Tensor s = placeholder({}, f32, "s");
  const Expr value = s;
  EXPECT_TRUE(value.as<ProducerLoad>()->indices.empty());
}

TEST(tensor, is_equal_to_the_same_output_of_the_same_operation) {
  const Tensor A = placeholder({4}, f32, "A");
  EXPECT_TRUE(A == output(A->op, 0));
  EXPECT_FALSE(A == placeholder({4}, f32, "A"));
  EXPECT_EQ(testing::refusal([&] { output(A->op, 1); }),
            "output_in_range: operation A has 1 outputs, output 1 was asked for");
  EXPECT_EQ(testing::refusal([&] { A.axis(0); }),
            "axis_in_range: tensor A has 0 axes, axis 0 was asked for");
}

TEST(reduce_axis, has_a_domain_of_integers) {
  const IterVar k = reduce_axis(2, int_imm(i64, 5), "k");
  EXPECT_EQ(k->var->dtype, i64);
  EXPECT_TRUE(is_const_int(k->dom->min, 2));
  EXPECT_TRUE(is_const_int(k->dom->extent, 3));
  EXPECT_EQ(k->iter_type, IterType::comm_reduce);
  EXPECT_EQ(testing::refusal([] { reduce_axis(0, -3, "k"); }),
            "extent_is_not_negative: reduce_axis k: the extent is -3, negative");
  EXPECT_EQ(testing::refusal([] { reduce_axis(0, float_imm(f32, 3), "k"); }),
            "domain_is_integer: reduce_axis k: a bound is float32, not an integer");
}

TEST(operations, are_ordered_by_what_they_read) {
  const Tensor A = placeholder({4}, f32, "A");
  const Tensor B = compute({4}, [&](Expr i) { return A(i) * A(i); }, "B");
  const Tensor C = compute({4}, [&](Expr i) { return B(i) + A(i); }, "C");
  std::vector<std::string_view> names;
  for (const Ref& op : post_order({C})) names.push_back(name_of(op));
  EXPECT_EQ(names, (std::vector<std::string_view>{"A", "B", "C"}));
  EXPECT_EQ(input_tensors(C->op).size(), 2u);
  EXPECT_EQ(input_tensors(B->op).size(), 1u);
}

TEST(operations, may_be_as_many_as_they_like) {
  Tensor last = placeholder({4}, f32, "A");
  for (int i = 0; i < 20000; ++i) {
    last = compute({4}, [&](Expr j) { return last(j); }, "B");
  }
  EXPECT_EQ(post_order({last}).size(), 20001u);
}

TEST(span, is_the_line_of_the_call) {
  constexpr std::uint32_t line = __LINE__ + 1;
  const Tensor A = placeholder({4}, f32, "A");
  EXPECT_EQ(A.span().line, line);
  EXPECT_TRUE(source_name(A.span().source).ends_with("tensor_test.cc"));

  constexpr std::uint32_t compute_line = __LINE__ + 1;
  const Tensor B = compute({4}, [&](Expr i) { return A(i) + A(i); }, "B");
  const auto& body = B->op.as<ComputeOp>()->body[0];
  EXPECT_EQ(body.span().line, compute_line);
  EXPECT_EQ(body.as<Add>()->a.span().line, compute_line);
}

TEST(span, is_that_of_the_scope_around_where_there_is_one) {
  const SpanScope scope(Span{.source = source_id("model.py"), .line = 7});
  const Tensor A = placeholder({4}, f32, "A");
  EXPECT_EQ(A.span().line, 7u);
}

}  // namespace
}  // namespace loopsmith::te
