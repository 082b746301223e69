// SPDX-License-Identifier: Apache-2.0
// What each expression node checks, and the type that it gives itself.
#include "loopsmith/ir/expr.h"

#include <gtest/gtest.h>

#include <functional>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/tensor.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith {
namespace {

using testing::refusal;

/// What is built, and what it is refused with.
struct Mistake {
  std::function<void()> build;
  const char* refusal;
};

const Expr x = var("x"), wide = var("w", i64), f = var("f", f32), c = var("c", boolean);
const Expr vector4 = var("v", i32.with_lanes(4));

Ptr<IterVar> axis(Ptr<Var> variable) {
  return make(IterVar{.dom = range(0, 8), .var = std::move(variable)});
}

TEST(expr, mistakes_are_refused_by_what_is_wrong) {
  const auto A = decl_buffer({8, 8}, f32, "A");
  const auto p = var("p", f32), q = var("q", f32);
  const auto sum = make(CommReducer{
      .lhs = {p}, .rhs = {q}, .result = {p + q}, .identity_element = {float_imm(f32, 0)}});
  const auto producer =
      make(Tensor{.op = make(PlaceholderOp{.name = "t"}), .dtype = f32, .shape = {8}});
  const Mistake mistakes[] = {
      {[] { make(Add{.a = x}); }, "field_is_missing: Add: the field 'b' is missing"},
      {[] { make(Call{.op = op("exp"), .args = {Expr()}}, f32); },
       "field_is_missing: Call: the field 'args' is missing"},
      {[] { int_imm(f32, 1); }, "constant_is_integer: constant 1 is float32, not a scalar integer"},
      {[] { int_imm(i8, 128); }, "constant_in_range: constant 128 is out of the range of int8"},
      {[] { int_imm(u8, -1); }, "constant_in_range: constant -1 is out of the range of uint8"},
      {[] { float_imm(i32, 1); }, "constant_is_float: constant 1 is int32, not a scalar float"},
      {[] { float_imm(f16, 1e6); },
       "constant_in_range: constant 1000000 is out of the range of float16"},
      {[] { float_imm(f8e4m3, -465); },
       "constant_in_range: constant -465 is out of the range of e4m3_float8"},
      {[] { const_of(i32, 0.5); }, "constant_in_range: constant 0.5 is not a value of int32"},
      {[] { var("x", void_type); }, "variable_has_type: variable x has type void"},
      {[] { size_var("n", f32); }, "size_is_integer: size variable n is float32, not an integer"},
      {[] { make(Cast{.value = vector4}, f32); },
       "cast_keeps_lanes: cast: int32x4 to float32 changes the number of lanes"},
      {[] { make(Cast{.value = x}, handle_type); }, "cast_of_number: cast: int32 to handle"},
      {[] { make(Add{.a = x, .b = wide}); },
       "operands_have_one_type: Add: the operands are int32 and int64, not of one type"},
      {[] { make(Mul{.a = string_imm("a"), .b = string_imm("b")}); },
       "operands_are_numbers: Mul: the operands are handle, not numbers"},
      {[] { make(FloorMod{.a = f, .b = f}); },
       "operands_are_integers: FloorMod: the operands are float32, not integers"},
      {[] { make(LT{.a = x, .b = f}); },
       "operands_have_one_type: LT: the operands are int32 and float32, not of one type"},
      {[] { make(And{.a = x, .b = x}); },
       "operands_are_bool: And: the operands are int32, not bool"},
      {[] { make(Not{.a = x}); }, "operands_are_bool: Not: the operand is int32, not bool"},
      {[] { make(Select{.condition = c, .true_value = x, .false_value = f}); },
       "operands_have_one_type: Select: the values are int32 and float32, not of one type"},
      {[] { make(Select{.condition = x, .true_value = x, .false_value = x}); },
       "condition_is_bool: Select: the condition is int32, the values are int32"},
      {[] { make(Ramp{.base = x, .stride = wide, .lanes = 4}); },
       "ramp_of_integers: Ramp: base is int32, stride is int64"},
      {[] { make(Ramp{.base = x, .stride = 1, .lanes = 0}); }, "lanes_in_range: Ramp: 0 lanes"},
      {[] { make(Ramp{.base = x, .stride = 1, .lanes = scalable_lanes}); },
       "lanes_in_range: Ramp: 32768 lanes"},
      {[] { make(Broadcast{.value = x, .lanes = 65536}); },
       "lanes_in_range: Broadcast: 65536 lanes"},
      {[] { make(Broadcast{.value = vector4, .lanes = 2}); },
       "broadcast_of_scalar: Broadcast: the value is int32x4, not a scalar"},
      {[] { make(Shuffle{.vectors = {vector4}}); },
       "shuffle_has_operands: Shuffle: 1 vectors, 0 indices"},
      {[] { make(Shuffle{.vectors = {vector4, f}, .indices = {0}}); },
       "operands_have_one_type: Shuffle: vectors of int32x4 and float32"},
      {[] { make(Shuffle{.vectors = {vector4}, .indices = {4}}); },
       "shuffle_index_in_range: Shuffle: an index is not a constant in [0, 4)"},
      {[] { make(Let{.value = f, .var = var("v"), .body = x}); },
       "let_has_type_of_value: Let: variable v is int32, its value float32"},
      {[] { call(f32, op("exp"), {f, f}); }, "argument_count: exp takes 1 arguments, 2 were given"},
      {[] { call(op("tvm_struct_get"), {x, x, x}); },
       "call_has_type: tvm_struct_get: the type of this call does not follow from its arguments"},
      {[&] { load(A, {x}); },
       "one_index_a_dimension: load: buffer A has 2 dimensions, 1 indices were given"},
      {[&] { load(A, {x, f}); },
       "index_is_integer: load: index 1 of buffer A is float32, not an integer"},
      {[&] { load(A, {vector4, x}); },
       "only_last_index_is_vector: load: index 0 of buffer A is a vector, only the last may be"},
      {[&] { make(BufferLoad{.buffer = A, .indices = {x, vector4}, .predicate = c}); },
       "predicate_is_mask: load: the predicate is bool, expected boolx4"},
      {[&] { make(ProducerLoad{.producer = producer, .indices = {x, x}}); },
       "one_index_a_dimension: a tensor of 1 dimensions needs as many indices, 2 were given"},
      {[&] { make(ProducerLoad{.producer = producer, .indices = {f}}); },
       "index_is_integer: index 0 of a tensor is float32, not an integer"},
      {[] { make(Range{.min = 0, .extent = wide}); },
       "range_of_integers: range: min is int32, extent is int64"},
      {[] { axis(var("i", i64)); }, "axis_has_type_of_domain: axis i is int64, its domain int32"},
      {[&] { make(CommReducer{.lhs = {p}, .rhs = {q}, .result = {p}}); },
       "reducer_is_whole: reducer: 1 and 1 operands, 1 results, 0 identity elements"},
      {[&] { make(CommReducer{.lhs = {p}, .rhs = {q}, .result = {x}, .identity_element = {p}}); },
       "reducer_has_one_type: reducer: value 0 is float32, float32, its result int32, its identity "
       "float32"},
      {[&] { make(Reduce{.combiner = sum, .source = {f, f}, .condition = true}); },
       "reduction_fits_reducer: reduction: 2 values for a reducer of 1"},
      {[&] { make(Reduce{.combiner = sum, .source = {f}, .init = {f, f}, .condition = true}); },
       "reduction_fits_reducer: reduction: 2 initial values for a reducer of 1"},
      {[&] { make(Reduce{.combiner = sum, .source = {f}, .condition = x}); },
       "condition_is_bool: reduction: the condition is int32, not bool"},
      {[&] { make(Reduce{.combiner = sum, .source = {f}, .condition = true, .value_index = 1}); },
       "reduction_value_in_range: reduction: value 1 of a reducer of 1"},
      {[&] { make(Reduce{.combiner = sum, .source = {x}, .condition = true}); },
       "reduction_fits_reducer: reduction: value 0 is int32, the reducer takes float32"},
  };
  for (const Mistake& mistake : mistakes) EXPECT_EQ(refusal(mistake.build), mistake.refusal);
}

TEST(expr, types_follow_from_operands) {
  EXPECT_EQ(Expr(make(Add{.a = f, .b = f})).dtype(), f32);
  EXPECT_EQ(Expr(make(LT{.a = vector4, .b = vector4})).dtype(), boolean.with_lanes(4));
  EXPECT_EQ(Expr(make(Ramp{.base = wide, .stride = wide, .lanes = 8})).dtype(), i64.with_lanes(8));
  EXPECT_EQ(Expr(make(Shuffle{.vectors = {vector4, x}, .indices = {4, 0}})).dtype(),
            i32.with_lanes(2));
  const auto A = decl_buffer({8, 8}, f16.with_lanes(2), "A");
  EXPECT_EQ(load(A, {x, x}).dtype(), f16.with_lanes(2));
  EXPECT_EQ(load(A, {x, vector4}).dtype(), f16.with_lanes(8));
  EXPECT_EQ(call(op("isnan"), {broadcast(f, 4)}).dtype(), boolean.with_lanes(4));
  EXPECT_EQ(call(op("if_then_else"), {c, f, f}).dtype(), f32);
  EXPECT_EQ(call(op("vector_reduce_add"), {vector4}).dtype(), i32);
  EXPECT_EQ(call(op("address_of"), {load(A, {x, x})}).dtype(), handle_type);
  EXPECT_EQ(Expr(make(Var{.name = "p", .pointer = make(PointerType{.element = f32})})).dtype(),
            handle_type);
}

TEST(expr, constants_are_shared_where_they_are_common) {
  EXPECT_TRUE(Expr(3).same_as(Expr(3)));
  EXPECT_TRUE(Expr(true).same_as(int_imm(boolean, 1)));
  EXPECT_FALSE(Expr(100000).same_as(Expr(100000)));
  EXPECT_EQ(*as_int(broadcast(Expr(-16), 4)), -16);
  EXPECT_EQ(float_imm(f16, 0.1).as<FloatImm>()->value, 0.0999755859375);
  EXPECT_TRUE(is_const_int(float_imm(f32, 2), 2));
  EXPECT_FALSE(is_const_int(x, 0));
}

TEST(expr, fields_by_name_and_nodes_by_name) {
  EXPECT_TRUE(is_expr(*Expr(1).get()));
  EXPECT_FALSE(is_stmt(*Expr(1).get()));
  EXPECT_EQ(find_node_info("For")->name, "For");
  EXPECT_EQ(find_node_info("Fro"), nullptr);
  const NodeInfo& info = *find_node_info("BufferLoad");
  ASSERT_EQ(info.fields.size(), 3U);
  EXPECT_EQ(info.fields[1].name, "indices");
  EXPECT_EQ(info.fields[1].target, "Expr");
  EXPECT_EQ(info.fields[0].target, "Buffer");
  EXPECT_EQ(info.fields[2].role, Role::optional);
  const NodeInfo& loop = *find_node_info("For");
  EXPECT_LT(loop.children.size(), loop.fields.size());  // All but its kind.
  EXPECT_EQ(loop.children.front().name, "loop_var");
  EXPECT_EQ(find_op("exp")->name, "exp");
  EXPECT_EQ(find_op("no_such"), nullptr);
}

TEST(expr, spans_are_of_the_place_that_made_the_node) {
  const Span span{source_id("expr_test.py"), 3};
  {
    const SpanScope scope(span);
    EXPECT_EQ((x + 1).span(), span);
  }
  EXPECT_FALSE((x + 1).span().known());
}

}  // namespace
}  // namespace loopsmith
