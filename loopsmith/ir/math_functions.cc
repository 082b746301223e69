// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/math_functions.h"

#include <array>
#include <cmath>
#include <numbers>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

// ---- In double, what <cmath> does not have ----

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

// ---- Derivatives ----

using Exprs = std::vector<Expr>;
using F = const FunctionCall&;

constexpr double two_by_root_of_pi = 2 * std::numbers::inv_sqrtpi;

Expr number(F f, double number) {
  return const_of(f.value.dtype(), number);
}

/// A function that is constant but for its jumps.
Exprs constant_between_jumps(F) {
  return {Expr()};
}

/// 1 / sqrt(1 - x^2).
Expr slope_of_asin(F f) {
  return call(op("rsqrt"), {number(f, 1) - f.x() * f.x()});
}

Expr sign(F f) {
  const Expr zero = number(f, 0);
  return select(f.x() > zero, number(f, 1), select(f.x() < zero, number(f, -1), zero));
}

/// y * x^(y - 1), and x^y * log(x), which is 0 for the base 0.
Exprs partials_of_power(F f) {
  const double* exponent = as_float(f.y());
  const Expr by_base = exponent && *exponent == 1 ? number(f, 1)
                       : exponent && *exponent == 2
                           ? number(f, 2) * f.x()
                           : f.y() * call(op("pow"), {f.x(), f.y() - number(f, 1)});
  return {by_base, select(f.x() == number(f, 0), number(f, 0), f.value * call(op("log"), {f.x()}))};
}

Exprs partials_of_atan2(F f) {
  const Expr square = f.x() * f.x() + f.y() * f.y();
  return {f.y() / square, -f.x() / square};
}

Exprs partials_of_copysign(F f) {
  const auto sign_of = [&](const Expr& x) { return call(op("copysign"), {number(f, 1), x}); };
  return {sign_of(f.x()) * sign_of(f.y()), Expr()};
}

// ---- The table ----

using Partials = Exprs (*)(F);

constexpr MathFunction of_floats(Op op, std::string_view doc, double (*function)(double),
                                 Partials partials) {
  return {
      .op = op, .operands = Operands::floats, .doc = doc, .of_one = function, .partials = partials};
}
constexpr MathFunction of_floats(Op op, std::string_view doc, double (*function)(double, double),
                                 Partials partials) {
  return {
      .op = op, .operands = Operands::floats, .doc = doc, .of_two = function, .partials = partials};
}
constexpr MathFunction of_integers(Op op, std::string_view doc) {
  return {.op = op, .operands = Operands::integers, .doc = doc};
}
constexpr MathFunction mixed(MathFunction function) {
  function.is_mixed = true;
  return function;
}
/// One that targets have themselves.
constexpr MathFunction of_target(MathFunction function, std::string_view c, std::string_view llvm) {
  function.c = c;
  function.llvm = llvm;
  return function;
}
/// An integer is its own.
constexpr MathFunction rounding(Op op, std::string_view doc, double (*function)(double),
                                std::string_view c, std::string_view llvm) {
  return {.op = op,
          .doc = doc,
          .of_one = function,
          .partials = constant_between_jumps,
          .c = c,
          .llvm = llvm};
}
constexpr MathFunction question(Op op, std::string_view doc) {
  return {.op = op, .doc = doc};
}
constexpr MathFunction identity(Op op, std::string_view doc, Identity identity) {
  return {.op = op, .doc = doc, .identity = identity, .partials = [](F f) {
            return Exprs{number(f, 1)};
          }};
}

constexpr MathFunction functions[] = {
    of_floats(op("exp"), "e to the power of x.", std::exp, [](F f) { return Exprs{f.value}; }),
    of_floats(op("exp2"), "2 to the power of x.", std::exp2,
              [](F f) { return Exprs{f.value * number(f, std::numbers::ln2)}; }),
    of_floats(op("exp10"), "10 to the power of x.", power_of_ten,
              [](F f) { return Exprs{f.value * number(f, std::numbers::ln10)}; }),
    of_floats(op("expm1"), "e to the power of x, minus 1, accurate near 0.", std::expm1,
              [](F f) { return Exprs{call(op("exp"), {f.x()})}; }),
    of_floats(op("log"), "The natural logarithm of x.", std::log,
              [](F f) { return Exprs{number(f, 1) / f.x()}; }),
    of_floats(op("log2"), "The logarithm of x to the base 2.", std::log2,
              [](F f) { return Exprs{number(f, std::numbers::log2e) / f.x()}; }),
    of_floats(op("log10"), "The logarithm of x to the base 10.", std::log10,
              [](F f) { return Exprs{number(f, std::numbers::log10e) / f.x()}; }),
    of_floats(op("log1p"), "The natural logarithm of 1 + x, accurate near 0.", std::log1p,
              [](F f) { return Exprs{number(f, 1) / (number(f, 1) + f.x())}; }),
    of_floats(op("rsqrt"), "1 divided by the square root of x.", reciprocal_root,
              [](F f) { return Exprs{number(f, -0.5) * f.value * f.value * f.value}; }),
    of_floats(op("sin"), "The sine of x, in radians.", std::sin,
              [](F f) { return Exprs{call(op("cos"), {f.x()})}; }),
    of_floats(op("cos"), "The cosine of x, in radians.", std::cos,
              [](F f) { return Exprs{-call(op("sin"), {f.x()})}; }),
    of_floats(op("tan"), "The tangent of x, in radians.", std::tan,
              [](F f) { return Exprs{number(f, 1) + f.value * f.value}; }),
    of_floats(op("sinh"), "The hyperbolic sine of x.", std::sinh,
              [](F f) { return Exprs{call(op("cosh"), {f.x()})}; }),
    of_floats(op("cosh"), "The hyperbolic cosine of x.", std::cosh,
              [](F f) { return Exprs{call(op("sinh"), {f.x()})}; }),
    of_floats(op("tanh"), "The hyperbolic tangent of x.", std::tanh,
              [](F f) { return Exprs{number(f, 1) - f.value * f.value}; }),
    of_floats(op("asin"), "The angle in radians whose sine is x.", std::asin,
              [](F f) { return Exprs{slope_of_asin(f)}; }),
    of_floats(op("acos"), "The angle in radians whose cosine is x.", std::acos,
              [](F f) { return Exprs{-slope_of_asin(f)}; }),
    of_floats(op("atan"), "The angle in radians whose tangent is x.", std::atan,
              [](F f) { return Exprs{number(f, 1) / (number(f, 1) + f.x() * f.x())}; }),
    of_floats(op("asinh"), "The number whose hyperbolic sine is x.", std::asinh,
              [](F f) { return Exprs{call(op("rsqrt"), {f.x() * f.x() + number(f, 1)})}; }),
    of_floats(op("acosh"), "The number, 0 or more, whose hyperbolic cosine is x.", std::acosh,
              [](F f) { return Exprs{call(op("rsqrt"), {f.x() * f.x() - number(f, 1)})}; }),
    of_floats(op("atanh"), "The number whose hyperbolic tangent is x.", std::atanh,
              [](F f) { return Exprs{number(f, 1) / (number(f, 1) - f.x() * f.x())}; }),
    of_floats(op("erf"), "The error function of x.", std::erf,
              [](F f) {
                return Exprs{number(f, two_by_root_of_pi) * call(op("exp"), {-(f.x() * f.x())})};
              }),
    of_floats(op("sigmoid"), "1 divided by 1 + exp(-x).", logistic,
              [](F f) { return Exprs{f.value * (number(f, 1) - f.value)}; }),
    of_floats(op("pow"), "x to the power of y.", std::pow, partials_of_power),
    of_floats(op("atan2"), "The angle in radians of the point (y, x): x is its height.", std::atan2,
              partials_of_atan2),
    of_floats(op("fmod"), "What is left of x divided by y, with the sign of x.", std::fmod,
              [](F f) { return Exprs{number(f, 1), -call(op("trunc"), {f.x() / f.y()})}; }),
    of_floats(op("hypot"), "The square root of x * x + y * y, without overflow on the way.",
              std::hypot, [](F f) { return Exprs{f.x() / f.value, f.y() / f.value}; }),
    mixed(of_floats(op("ldexp"), "x times 2 to the power of y.", scale_by_power,
                    [](F f) { return Exprs{call(op("ldexp"), {number(f, 1), f.y()}), Expr()}; })),
    // Its value depends on the type: the interpreter has it for each.
    {.op = op("nextafter"),
     .operands = Operands::floats,
     .doc = "The number of its type next to x on the way to y.",
     .partials = [](F f) { return Exprs{number(f, 1), Expr()}; }},
    of_target(of_floats(op("sqrt"), "The square root of x.", std::sqrt,
                        [](F f) { return Exprs{number(f, 0.5) / f.value}; }),
              "sqrt", "llvm.sqrt"),
    of_target(of_floats(op("copysign"), "The magnitude of x with the sign of y.", std::copysign,
                        partials_of_copysign),
              "copysign", "llvm.copysign"),
    // Rounded once, to the type: the interpreter has it for each.
    {.op = op("fma"),
     .operands = Operands::floats,
     .doc = "x * y + z, rounded once.",
     .partials = [](F f) { return Exprs{f.y(), f.x(), number(f, 1)}; },
     .c = "fma",
     .llvm = "llvm.fma"},
    rounding(op("floor"), "The largest whole number that is not above x.", std::floor, "floor",
             "llvm.floor"),
    rounding(op("ceil"), "The smallest whole number that is not below x.", std::ceil, "ceil",
             "llvm.ceil"),
    rounding(op("trunc"), "x without its fraction.", std::trunc, "trunc", "llvm.trunc"),
    rounding(op("round"), "The whole number next to x; halves go away from 0.", std::round, "round",
             "llvm.round"),
    rounding(op("nearbyint"), "The whole number next to x; halves go to the even one.",
             std::nearbyint, "rint", "llvm.roundeven"),
    // The magnitude of an integer has an instruction of its own; see the code generators.
    {.op = op("fabs"),
     .doc = "The magnitude of x.",
     .of_one = std::fabs,
     .partials = [](F f) { return Exprs{sign(f)}; },
     .c = "fabs",
     .llvm = "llvm.fabs"},
    // Bits. Code generators and the interpreter have a case for each.
    of_integers(op("bitwise_and"), "The bits that are 1 in x and in y."),
    of_integers(op("bitwise_or"), "The bits that are 1 in x or in y."),
    of_integers(op("bitwise_xor"), "The bits that differ in x and y."),
    of_integers(op("bitwise_not"), "All bits of x, inverted."),
    of_integers(op("shift_left"), "x shifted left by y bits; 0 for as many bits as it has."),
    of_integers(op("shift_right"), "x shifted right by y bits; signed numbers keep their sign."),
    of_integers(op("popcount"), "How many bits of x are 1."),
    of_integers(op("clz"), "How many bits of x are 0 above its highest 1."),
    of_integers(op("q_multiply_shift"),
                "Of (x, y, q, s): x times y as fixed-point numbers of q bits, shifted by s."),
    mixed(of_integers(op("q_multiply_shift_per_axis"),
                      "As q_multiply_shift, with shifts to the left and right apart.")),
    // Questions, which have cases, too.
    question(op("isnan"), "Whether x is not a number."),
    question(op("isinf"), "Whether x is infinite."),
    question(op("isfinite"), "Whether x is a number, and not infinite."),
    // What is said of a value.
    identity(op("likely"), "x, which is nearly always true.", Identity::plain),
    identity(op("tvm_thread_invariant"), "x, which is the same in all threads.", Identity::plain),
    identity(op("precise"), "x, computed as written: no fused or reordered arithmetic.",
             Identity::precise),
};

/// By intrinsics: which row it is, from 1 on; 0: it has none.
constexpr auto row_of = [] {
  std::array<std::uint8_t, detail::op_count> rows{};
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    rows[functions[i].op.index()] = static_cast<std::uint8_t>(i + 1);
  }
  return rows;
}();

}  // namespace

const MathFunction* find_math_function(Op op) {
  const std::size_t row = row_of[op.index()];
  return row == 0 ? nullptr : &functions[row - 1];
}

Identity identity_of(Op op) {
  const MathFunction* function = find_math_function(op);
  return function ? function->identity : Identity::none;
}

std::span<const MathFunction> all_math_functions() {
  return functions;
}

std::optional<std::vector<Expr>> partial_derivatives(const Expr& call) {
  const auto* node = call.as<Call>();
  const MathFunction* function = node ? find_math_function(node->op) : nullptr;
  if (!function || !function->partials) return {};
  return function->partials({node->args, call});
}

}  // namespace loopsmith
