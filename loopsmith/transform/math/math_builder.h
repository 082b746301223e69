// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the expansions: IR operators that take plain numbers, bits of floats,
// polynomials. Everything works on scalars and vectors, in float32 and float64.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "loopsmith/ir/operators.h"

namespace loopsmith::math {

inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// ---- Constants ----

template <class T>
concept Number = std::is_arithmetic_v<T>;

/// `value` as a constant of `type`, in all of its lanes; to a floating-point type it is rounded.
Expr constant(DataType type, double value);
Expr constant(DataType type, std::uint64_t value);
template <Number T>
Expr constant(DataType type, T value) {
  if constexpr (std::floating_point<T>) return constant(type, static_cast<double>(value));
  if (type.is_float()) return constant(type, static_cast<double>(value));
  return constant(type, static_cast<std::uint64_t>(value));
}

/// `value` as it is, or as a constant of the type of `like`.
inline const Expr& operand(const Expr&, const Expr& value) {
  return value;
}
template <Number T>
Expr operand(const Expr& like, T value) {
  return constant(like.dtype(), value);
}

// ---- Operators with a number on one side ----

template <Number T>
Expr operator+(const Expr& a, T b) {
  return a + operand(a, b);
}
template <Number T>
Expr operator-(const Expr& a, T b) {
  return a - operand(a, b);
}
template <Number T>
Expr operator*(const Expr& a, T b) {
  return a * operand(a, b);
}
template <Number T>
Expr operator/(const Expr& a, T b) {
  return a / operand(a, b);
}
template <Number T>
Expr operator+(T a, const Expr& b) {
  return operand(b, a) + b;
}
template <Number T>
Expr operator-(T a, const Expr& b) {
  return operand(b, a) - b;
}
template <Number T>
Expr operator*(T a, const Expr& b) {
  return operand(b, a) * b;
}
template <Number T>
Expr operator/(T a, const Expr& b) {
  return operand(b, a) / b;
}
template <Number T>
Expr operator<(const Expr& a, T b) {
  return a < operand(a, b);
}
template <Number T>
Expr operator<=(const Expr& a, T b) {
  return a <= operand(a, b);
}
template <Number T>
Expr operator>(const Expr& a, T b) {
  return a > operand(a, b);
}
template <Number T>
Expr operator>=(const Expr& a, T b) {
  return a >= operand(a, b);
}
template <Number T>
Expr operator==(const Expr& a, T b) {
  return a == operand(a, b);
}
template <Number T>
Expr operator!=(const Expr& a, T b) {
  return a != operand(a, b);
}
template <Number T>
Expr operator&(const Expr& a, T b) {
  return a & operand(a, b);
}
template <Number T>
Expr operator|(const Expr& a, T b) {
  return a | operand(a, b);
}
template <Number T>
Expr operator<<(const Expr& a, T b) {
  return a << operand(a, b);
}
template <Number T>
Expr operator>>(const Expr& a, T b) {
  return a >> operand(a, b);
}

template <Number T>
Expr select(const Expr& condition, const Expr& yes, T no) {
  return select(condition, yes, operand(yes, no));
}
template <Number T>
Expr select(const Expr& condition, T yes, const Expr& no) {
  return select(condition, operand(no, yes), no);
}

/// a * b + c, rounded once.
template <class B, class C>
Expr fma(const Expr& a, const B& b, const C& c) {
  return call(op("fma"), {a, operand(a, b), operand(a, c)});
}

// ---- Functions that processors have ----

Expr sqrt(const Expr& x);
Expr fabs(const Expr& x);
Expr trunc(const Expr& x);
/// To the nearest whole number, ties to even.
Expr nearbyint(const Expr& x);
/// `x` with the sign of `sign`.
Expr copysign(const Expr& x, const Expr& sign);

// ---- Precision ----

/// What distinguishes float32 and float64 here.
struct Format {
  int mantissa_bits;
  int bias;  ///< Of the exponent.
  double smallest_normal;
  double to_normal;  ///< A power of two that makes each subnormal number normal.
  int to_normal_exponent;
  double integer_anchor;  ///< Added, it leaves a number rounded in the low bits.
  std::uint64_t anchor_bits;
  std::uint64_t one_bits;
  std::uint64_t sqrt_half_bits;
};
const Format& format_of(const Expr& x);
inline bool is_double(const Expr& x) {
  return x.dtype().bits == 64;
}
/// The constant for the precision of `x`.
inline double pick(const Expr& x, double in_float, double in_double) {
  return is_double(x) ? in_double : in_float;
}

// ---- Bits ----

/// The bits of a float as an unsigned integer, and back.
Expr bits_of(const Expr& x);
Expr from_bits(const Expr& bits);
/// The sign bit, others zero.
Expr sign_bit(const Expr& x);
/// `x`, negated where `sign` has the sign bit.
Expr flip_sign(const Expr& x, const Expr& sign);

/// The float of a whole number held modulo 2^bits in an unsigned integer: |value| < 2^22, 2^51.
Expr to_float(const Expr& whole);
/// 2^k for an exponent in the normal range.
Expr power_of_two(const Expr& k);
/// y 2^k for any k between -2 bias + 2 and 2 bias, rounded once; k is held modulo 2^bits. A call
/// of `ldexp`.
Expr scale(const Expr& y, const Expr& k);
/// What that call computes, by products; k is signed.
Expr scale_in_halves(const Expr& y, const Expr& k);

/// round(x * factor) as a float and, modulo 2^bits, as an unsigned integer.
struct Rounded {
  Expr value;
  Expr whole;
};
Rounded round_product(const Expr& x, double factor);

// ---- Numbers ----

/// `x` held between constants; NaN stays.
Expr clamp(const Expr& x, double low, double high);

/// c[0] + c[1] x + ... by Horner's rule.
Expr polynomial(const Expr& x, std::span<const double> coefficients);
/// The same with the coefficients for the precision of `x`.
Expr polynomial(const Expr& x, std::span<const double> in_float, std::span<const double> in_double);

// ---- Sharing ----

/// `root` with each expression that occurs in several places bound once, by a Let around it all.
Expr bind_shared(const Expr& root);

}  // namespace loopsmith::math
