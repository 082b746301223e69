// SPDX-License-Identifier: Apache-2.0
// asinh, acosh and atanh by logarithms: for float32 in float64, where plain formulas are accurate
// enough; for float64 by log(1 + v) with v in two words.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;

// log(1 + f) / f: 2^-33.
constexpr double log_for_float[] = {
    1.0000000000353133,  -0.50000000334110706, 0.3333333149854954,  -0.24999932893294421,
    0.20000114092645752, -0.16670505144226083, 0.14285508767252755, -0.12410156656095421,
    0.11020681343792746, -0.10883569634195933, 0.10737907858731521, -0.05985133952144666};

Expr to_double(const Expr& x) {
  return cast(f64.with_lanes(x.dtype().lanes), x);
}

/// The logarithm of a positive normal float64, good enough for float32.
Expr log_for_narrow(const Expr& x) {
  const auto [m, k] = split_normal(x);
  const Expr f = m - 1.0;
  return fma(to_float(k), ln2, f * polynomial(f, log_for_float));
}

/// log(1 + v.hi + v.lo) of finite float64 v >= 0.
Expr log1p_of(const DoubleWord& v) {
  const DoubleWord u = two_sum(constant(v.hi.dtype(), 1.0), v.hi);
  const auto [m, k] = split_normal(u.hi);
  const Expr inverse_scale = select(v.hi < 0x1p60, power_of_two(0 - k), 0.0);
  const DoubleWord f = fast_two_sum(m - 1.0, (u.lo + v.lo) * inverse_scale);
  const Expr n = to_float(k);
  const auto [square, rest] = log_series(f.hi);
  // log(1 + f + d) = log(1 + f) + d / (1 + f), for so small a d as d (1 - f).
  const Expr correction = fma(f.hi * -1.0, f.lo, f.lo);
  const Expr low = rest + fma(n, 0x1.ef35793c76730p-45, correction);
  return fma(n, 0x1.62e42fefa3800p-1, f.hi - (square - low));
}

/// log(2x) for large x; NaN and infinity as they are.
Expr log_of_twice(const Expr& x) {
  return lower_log(x) + ln2;
}

Expr asinh_in_float(const Expr& x, const Expr& a) {
  const Expr d = to_double(a);
  const Expr y = cast(x.dtype(), log_for_narrow(d + sqrt(fma(d, d, 1.0))));
  const Expr near_zero = fma(x * x * (-1.0 / 6), a, a);
  return select(a < infinite, select(a < 0x1p-12, near_zero, y), a);
}

Expr asinh_in_double(const Expr& a) {
  constexpr double large = 0x1p28;
  const Expr b = select(a > large, 0.0, a);
  const Expr square = b * b;
  // asinh(b) = log(1 + b + b^2 / (1 + sqrt(1 + b^2)))
  const DoubleWord v = fast_two_sum(b, square / (sqrt(square + 1.0) + 1.0));
  const Expr y = select(a > large, log_of_twice(a), log1p_of(v));
  return select(a < 0x1p-28, a, select(a == a, y, a));
}

Expr atanh_in_double(const Expr& a) {
  // atanh(a) = log(1 + 2a / (1 - a)) / 2, with what the quotient and its divisor lost.
  const Expr d = 1.0 - a;
  const Expr lost_of_d = (1.0 - d) - a;
  const Expr twice = a * 2.0;
  const Expr q = twice / d;
  const Expr lost = fma(q * -1.0, lost_of_d, fma(q * -1.0, d, twice)) / d;
  return select(a < 0x1p-28, a, log1p_of({q, lost}) * 0.5);
}

}  // namespace

Expr lower_asinh(const Expr& x) {
  const Expr a = fabs(x);
  return copysign(is_double(x) ? asinh_in_double(a) : asinh_in_float(x, a), x);
}

Expr lower_acosh(const Expr& x) {
  Expr y;
  if (is_double(x)) {
    constexpr double large = 0x1p28;
    const Expr t = select(x > large, 0.0, x - 1.0);
    // acosh(1 + t) = log(1 + t + sqrt(2t + t^2))
    const DoubleWord v = two_sum(t, sqrt(fma(t, t, t * 2.0)));
    y = select(x > large, log_of_twice(x), log1p_of(v));
  } else {
    const Expr d = to_double(x);
    y = cast(x.dtype(), log_for_narrow(d + sqrt(fma(d, d, -1.0))));
  }
  return select(x < 1.0, not_a_number, select(x < infinite, y, x));
}

Expr lower_atanh(const Expr& x) {
  const Expr a = fabs(x);
  Expr y;
  if (is_double(x)) {
    y = atanh_in_double(a);
  } else {
    const Expr d = to_double(a);
    y = cast(x.dtype(), log_for_narrow((d + 1.0) / (1.0 - d)) * 0.5);
    y = select(a < 0x1p-12, fma(x * x * (1.0 / 3), a, a), y);
  }
  const Expr outside = select(a == 1.0, constant(x.dtype(), infinite), not_a_number);
  return copysign(select(a < 1.0, y, outside), x);
}

}  // namespace loopsmith::math
