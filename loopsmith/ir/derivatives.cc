// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/derivatives.h"

#include <algorithm>
#include <iterator>
#include <numbers>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using Exprs = std::vector<Expr>;

/// What the derivatives of a call may use: its arguments and its value.
struct Applied {
  const Exprs& args;
  const Expr& value;

  const Expr& x() const { return args[0]; }
  const Expr& y() const { return args[1]; }
  Expr number(double number) const { return const_of(value.dtype(), number); }
  Expr of(Op op, const Expr& x) const { return call(op, {x}); }
};

Expr sign(const Applied& f, const Expr& x) {
  const Expr zero = f.number(0);
  return select(x > zero, f.number(1), select(x < zero, f.number(-1), zero));
}

/// y * x^(y - 1).
Expr power_by_base(const Applied& f) {
  const double* exponent = as_float(f.y());
  if (exponent && *exponent == 1) return f.number(1);
  if (exponent && *exponent == 2) return f.number(2) * f.x();
  return f.y() * call(op("pow"), {f.x(), f.y() - f.number(1)});
}

/// x^y * log(x), which is 0 for the base 0.
Expr power_by_exponent(const Applied& f) {
  return select(f.x() == f.number(0), f.number(0), f.value * f.of(op("log"), f.x()));
}

struct Row {
  Op op;
  Exprs (*partials)(const Applied&);
};

constexpr double two_by_root_of_pi = 2 * std::numbers::inv_sqrtpi;

/// The intrinsics of mathematics (op.h), in the order of their table.
constexpr Row rows[] = {
    {op("exp"), [](const Applied& f) { return Exprs{f.value}; }},
    {op("exp2"), [](const Applied& f) { return Exprs{f.value * f.number(std::numbers::ln2)}; }},
    {op("exp10"), [](const Applied& f) { return Exprs{f.value * f.number(std::numbers::ln10)}; }},
    {op("expm1"), [](const Applied& f) { return Exprs{f.of(op("exp"), f.x())}; }},
    {op("log"), [](const Applied& f) { return Exprs{f.number(1) / f.x()}; }},
    {op("log2"), [](const Applied& f) { return Exprs{f.number(std::numbers::log2e) / f.x()}; }},
    {op("log10"), [](const Applied& f) { return Exprs{f.number(std::numbers::log10e) / f.x()}; }},
    {op("log1p"), [](const Applied& f) { return Exprs{f.number(1) / (f.number(1) + f.x())}; }},
    {op("sqrt"), [](const Applied& f) { return Exprs{f.number(0.5) / f.value}; }},
    {op("rsqrt"),
     [](const Applied& f) { return Exprs{f.number(-0.5) * f.value * f.value * f.value}; }},
    {op("pow"), [](const Applied& f) { return Exprs{power_by_base(f), power_by_exponent(f)}; }},
    {op("sin"), [](const Applied& f) { return Exprs{f.of(op("cos"), f.x())}; }},
    {op("cos"), [](const Applied& f) { return Exprs{-f.of(op("sin"), f.x())}; }},
    {op("tan"), [](const Applied& f) { return Exprs{f.number(1) + f.value * f.value}; }},
    {op("sinh"), [](const Applied& f) { return Exprs{f.of(op("cosh"), f.x())}; }},
    {op("cosh"), [](const Applied& f) { return Exprs{f.of(op("sinh"), f.x())}; }},
    {op("tanh"), [](const Applied& f) { return Exprs{f.number(1) - f.value * f.value}; }},
    {op("asin"),
     [](const Applied& f) { return Exprs{f.of(op("rsqrt"), f.number(1) - f.x() * f.x())}; }},
    {op("acos"),
     [](const Applied& f) { return Exprs{-f.of(op("rsqrt"), f.number(1) - f.x() * f.x())}; }},
    {op("atan"),
     [](const Applied& f) { return Exprs{f.number(1) / (f.number(1) + f.x() * f.x())}; }},
    {op("asinh"),
     [](const Applied& f) { return Exprs{f.of(op("rsqrt"), f.x() * f.x() + f.number(1))}; }},
    {op("acosh"),
     [](const Applied& f) { return Exprs{f.of(op("rsqrt"), f.x() * f.x() - f.number(1))}; }},
    {op("atanh"),
     [](const Applied& f) { return Exprs{f.number(1) / (f.number(1) - f.x() * f.x())}; }},
    {op("atan2"),
     [](const Applied& f) {
       const Expr square = f.x() * f.x() + f.y() * f.y();
       return Exprs{f.y() / square, -f.x() / square};
     }},
    {op("erf"),
     [](const Applied& f) {
       return Exprs{f.number(two_by_root_of_pi) * f.of(op("exp"), -(f.x() * f.x()))};
     }},
    {op("sigmoid"), [](const Applied& f) { return Exprs{f.value * (f.number(1) - f.value)}; }},
    {op("floor"), [](const Applied&) { return Exprs{Expr()}; }},
    {op("ceil"), [](const Applied&) { return Exprs{Expr()}; }},
    {op("round"), [](const Applied&) { return Exprs{Expr()}; }},
    {op("trunc"), [](const Applied&) { return Exprs{Expr()}; }},
    {op("nearbyint"), [](const Applied&) { return Exprs{Expr()}; }},
    {op("fabs"), [](const Applied& f) { return Exprs{sign(f, f.x())}; }},
    {op("fmod"),
     [](const Applied& f) { return Exprs{f.number(1), -f.of(op("trunc"), f.x() / f.y())}; }},
    {op("hypot"), [](const Applied& f) { return Exprs{f.x() / f.value, f.y() / f.value}; }},
    {op("copysign"),
     [](const Applied& f) {
       const auto sign_of = [&](const Expr& x) { return call(op("copysign"), {f.number(1), x}); };
       return Exprs{sign_of(f.x()) * sign_of(f.y()), Expr()};
     }},
    {op("nextafter"), [](const Applied& f) { return Exprs{f.number(1), Expr()}; }},
    {op("ldexp"),
     [](const Applied& f) { return Exprs{call(op("ldexp"), {f.number(1), f.y()}), Expr()}; }},
    {op("fma"), [](const Applied& f) { return Exprs{f.y(), f.x(), f.number(1)}; }},
    {op("precise"), [](const Applied& f) { return Exprs{f.number(1)}; }},
};

const Row* row_of(Op op) {
  const Row* found = std::ranges::find(rows, op, &Row::op);
  return found == std::end(rows) ? nullptr : found;
}

}  // namespace

bool has_derivatives(Op op) {
  return row_of(op) != nullptr;
}

std::optional<std::vector<Expr>> partial_derivatives(const Expr& call) {
  const auto* node = call.as<Call>();
  const Row* row = node ? row_of(node->op) : nullptr;
  if (!row) return {};
  return row->partials({node->args, call});
}

}  // namespace loopsmith
