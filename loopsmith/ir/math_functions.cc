// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/math_functions.h"

#include <algorithm>
#include <cmath>

namespace loopsmith {
namespace {

double reciprocal_root(double x) {
  return 1 / std::sqrt(x);
}
double power_of_ten(double x) {
  return std::pow(10.0, x);
}
double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double scale_by_power(double x, double exponent) {
  return std::ldexp(x, static_cast<int>(exponent));
}

constexpr MathFunction one(Op op, double (*function)(double)) {
  return {.op = op, .of_one = function};
}
constexpr MathFunction two(Op op, double (*function)(double, double)) {
  return {.op = op, .of_two = function};
}
constexpr MathFunction rounding(Op op, double (*function)(double), std::string_view c,
                                std::string_view llvm) {
  return {.op = op, .of_one = function, .keeps_integers = true, .c = c, .llvm = llvm};
}

const MathFunction functions[] = {
    one(op("exp"), std::exp),
    one(op("exp2"), std::exp2),
    one(op("exp10"), power_of_ten),
    one(op("expm1"), std::expm1),
    one(op("log"), std::log),
    one(op("log2"), std::log2),
    one(op("log10"), std::log10),
    one(op("log1p"), std::log1p),
    one(op("rsqrt"), reciprocal_root),
    one(op("sin"), std::sin),
    one(op("cos"), std::cos),
    one(op("tan"), std::tan),
    one(op("sinh"), std::sinh),
    one(op("cosh"), std::cosh),
    one(op("tanh"), std::tanh),
    one(op("asin"), std::asin),
    one(op("acos"), std::acos),
    one(op("atan"), std::atan),
    one(op("asinh"), std::asinh),
    one(op("acosh"), std::acosh),
    one(op("atanh"), std::atanh),
    one(op("erf"), std::erf),
    one(op("sigmoid"), logistic),
    two(op("pow"), std::pow),
    two(op("atan2"), std::atan2),
    two(op("fmod"), std::fmod),
    two(op("hypot"), std::hypot),
    two(op("ldexp"), scale_by_power),
    // What targets have themselves.
    {.op = op("sqrt"), .of_one = std::sqrt, .c = "sqrt", .llvm = "llvm.sqrt"},
    {.op = op("copysign"), .of_two = std::copysign, .c = "copysign", .llvm = "llvm.copysign"},
    {.op = op("fma"), .c = "fma", .llvm = "llvm.fma"},
    rounding(op("floor"), std::floor, "floor", "llvm.floor"),
    rounding(op("ceil"), std::ceil, "ceil", "llvm.ceil"),
    rounding(op("trunc"), std::trunc, "trunc", "llvm.trunc"),
    rounding(op("round"), std::round, "round", "llvm.round"),
    rounding(op("nearbyint"), std::nearbyint, "rint", "llvm.roundeven"),
    // The magnitude of an integer has an instruction of its own; see the code generators.
    {.op = op("fabs"), .of_one = std::fabs, .c = "fabs", .llvm = "llvm.fabs"},
};

}  // namespace

const MathFunction* find_math_function(Op op) {
  const auto* found = std::ranges::find(functions, op, &MathFunction::op);
  return found == std::end(functions) ? nullptr : found;
}

std::span<const MathFunction> all_math_functions() {
  return functions;
}

}  // namespace loopsmith
