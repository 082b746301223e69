// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_math.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/transform/math/testing/program.h"

namespace loopsmith {
namespace {

using testing::ScalarProgram;

/// The names of the intrinsics called in `root`.
std::set<std::string> calls_in(const Ref& root) {
  std::set<std::string> names;
  post_order_visit(root, [&](const Ref& node) {
    if (const auto* call = node.as<Call>()) names.emplace(call->op.name());
  });
  return names;
}

/// A[i] = value(A[i]) for i in 16.
template <class Value>
Ptr<PrimFunc> elementwise(DataType type, Value value) {
  const auto a = decl_buffer({16}, type, "A");
  const auto i = var("i");
  const Stmt body = for_loop(i, 0, 16, store(a, value(load(a, {i})), {i}));
  return make(PrimFunc{.params = {var("a", handle_type)}, .buffer_map = {a}, .body = body});
}

TEST(LowerMath, LeavesNoFunctionThatTargetsLack) {
  const char* functions[] = {"exp",   "exp2",  "exp10", "expm1", "sigmoid", "log",
                             "log2",  "log10", "log1p", "sinh",  "cosh",    "tanh",
                             "asinh", "acosh", "atanh", "sin",   "cos",     "tan",
                             "asin",  "acos",  "atan",  "erf",   "rsqrt"};
  const std::set<std::string> instructions = {
      "fma",        "sqrt",        "fabs",        "trunc",       "nearbyint",
      "copysign",   "precise",     "reinterpret", "bitwise_and", "bitwise_or",
      "shift_left", "shift_right", "bitwise_xor"};
  for (const char* name : functions) {
    for (const DataType type : {f16, bf16, f32, f64, f32.with_lanes(8)}) {
      const Expr x = var("x", type);
      const Expr y = lower_math(call(op_of(find_op(name)), {x}));
      EXPECT_EQ(y.dtype(), type) << name;
      for (const std::string& used : calls_in(y)) {
        EXPECT_TRUE(instructions.contains(used)) << name << " uses " << used;
      }
    }
  }
}

TEST(LowerMath, DefinesVariablesOfEachCallOnce) {
  const auto same = [](const Expr& x) {
    const Expr once = call(op("exp"), {x});
    return once + once;
  };
  const auto apart = [](const Expr& x) { return call(op("exp"), {x}) + call(op("exp"), {x}); };
  const auto part = [](const Expr& x) {
    const Expr once = call(op("exp"), {x});
    return if_then_else(x > float_imm(f32, 0), once, float_imm(f32, 0)) + once;
  };
  EXPECT_NO_THROW(verify_well_formed(lower_math(elementwise(f32, same)))) << "same";
  EXPECT_NO_THROW(verify_well_formed(lower_math(elementwise(f32, apart)))) << "apart";
  EXPECT_NO_THROW(verify_well_formed(lower_math(elementwise(f32, part)))) << "part";
}

TEST(LowerMath, LeavesInstructionsAlone) {
  const Expr x = var("x", f32);
  for (const char* name : {"sqrt", "fabs", "floor", "ceil", "trunc", "nearbyint", "round"}) {
    const Expr y = call(op_of(find_op(name)), {x});
    EXPECT_TRUE(lower_math(y).same_as(y)) << name;
  }
}

TEST(LowerMath, EvaluatesAnArgumentOnce) {
  const auto func = lower_math(
      elementwise(f32, [](const Expr& x) { return call(op("exp"), {call(op("sin"), {x}) + x}); }));
  EXPECT_NO_THROW(verify_well_formed(func));
  const std::set<std::string> calls = calls_in(func);
  EXPECT_FALSE(calls.contains("exp") || calls.contains("sin"));
  int sums_with_sine = 0;
  post_order_visit(func, [&](const Ref& node) {
    const auto* let = node.as<Let>();
    if (let && let->var->name == "x" && let->value.is<Add>()) ++sums_with_sine;
  });
  EXPECT_EQ(sums_with_sine, 1);
}

TEST(LowerMath, ExpandsACallThatStatementsShareInEach) {
  const auto a = decl_buffer({16}, f32, "A");
  const Expr y = call(op("exp"), {load(a, {0}) * load(a, {1})});
  const Stmt body = seq({store(a, y, {2}), store(a, y, {3})});
  const Ptr<PrimFunc> func =
      make(PrimFunc{.params = {var("a", handle_type)}, .buffer_map = {a}, .body = body});
  EXPECT_NO_THROW(verify_well_formed(lower_math(func)));
}

TEST(LowerMath, ComputesNarrowTypesInFloat32) {
  for (const DataType type : {f16, bf16}) {
    const Expr x = var("x", type);
    ScalarProgram program(lower_math(call(op("exp"), {x})), {x});
    for (double value = -8; value < 8; value += 0.125) {
      EXPECT_EQ(program.run({value}), round_to(type, round_to(f32, std::exp(value)))) << value;
    }
  }
  // The neighbours of a float16 are its own.
  const Expr x = var("x", f16), y = var("y", f16);
  const Expr next = lower_math(call(op("nextafter"), {x, y}));
  post_order_visit(next, [&](const Ref& node) { EXPECT_FALSE(node.is<Cast>()); });
}

TEST(LowerMath, IsPreciseWhateverSurroundsIt) {
  const Expr x = var("x", f32);
  const Expr lowered = lower_math(call(op("log1p"), {x}));
  const auto* precise = lowered.as<Call>();
  ASSERT_TRUE(precise);
  EXPECT_EQ(precise->op, op("precise"));
}

TEST(LowerMath, FastMathTakesCheaperVariants) {
  const Expr x = var("x", f32);
  const Expr call_of_tanh = call(op("tanh"), {x});
  ScalarProgram exact(lower_math(call_of_tanh), {x}),
      fast(lower_math(call_of_tanh, {.is_fast = true}), {x});
  EXPECT_LT(fast.size(), exact.size());
  EXPECT_NEAR(fast.run({0.3}), std::tanh(0.3), 1e-7);
  const auto size_of_exp = [&](const MathOptions& options) {
    return ScalarProgram(lower_math(call(op("exp"), {x}), options), {x}).size();
  };
  EXPECT_LT(size_of_exp({.is_fast = true}), size_of_exp({}));
  EXPECT_LT(size_of_exp({.is_fast = true, .has_ldexp = true}), size_of_exp({.is_fast = true}));
  // What has no fast variant takes the exact one.
  const Expr call_of_tan = call(op("tan"), {x});
  ScalarProgram tan_exact(lower_math(call_of_tan), {x}),
      tan_fast(lower_math(call_of_tan, {.is_fast = true}), {x});
  EXPECT_EQ(tan_exact.size(), tan_fast.size());
}

TEST(LowerMath, AnInstructionScalesAsTwoProductsDo) {
  for (const DataType type : {f32, f64}) {
    for (const Op function : {op("exp"), op("exp2"), op("exp10"), op("sigmoid")}) {
      const Expr x = var("x", type);
      const Expr whole = call(function, {x});
      const Expr scaled = lower_math(whole, {.has_ldexp = true});
      EXPECT_TRUE(calls_in(scaled).contains("ldexp"));
      ScalarProgram products(lower_math(whole), {x}), instruction(scaled, {x});
      EXPECT_LT(instruction.size(), products.size());
      for (double value = -800; value < 800; value += 0.7) {  // To 0, and to infinity.
        EXPECT_EQ(products.run({value}), instruction.run({value})) << value;
      }
    }
  }
}

}  // namespace
}  // namespace loopsmith
