// SPDX-License-Identifier: Apache-2.0
// pow(|x|, y) = exp(y log|x|): for float32 in float64 with base 2, for float64 with the logarithm
// in two words of together 64 bits or more. Then the sign, and the cases of C99 F.9.4.4.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-38; 2^r for |r| <= 1/2: 2^-29.
constexpr double log2_for_float[] = {
    1.442695040886542,   -0.72134752032480765, 0.48089834882147409, -0.360673793795183,
    0.28853879448516701, -0.24044638939471491, 0.20610711964778733, -0.18043794995564802,
    0.16021818393407447, -0.14248497857512124, 0.1302454756704497,  -0.13467411454556044,
    0.13268308948317065, -0.069859567645404991};
constexpr double exp2_for_float[] = {
    1.0000000005599525,    0.69314720588878564,   0.24022646865183492,   0.055503284471715542,
    0.0096184904317578816, 0.0013400064739685249, 0.00015345717467890723};

// ((log((1 + s) / (1 - s)) / s - 2) / z - 2/3) / z with z = s^2: 2^-72 of the whole.
constexpr double log_tail[] = {0.39999999999999974, 0.28571428571447044, 0.22222222217070159,
                               0.18181818927093038, 0.15384553027602738, 0.13336464110239882,
                               0.11671864906787115, 0.12013407978365007};

/// `log`, the logarithm of a > 0, with the values at zero, infinity and NaN.
Expr with_ends(const Expr& log, const Expr& a) {
  return select(a == 0.0, -infinite, select(a < infinite, log, a));
}

/// y log|x|, 0 where either is, even times infinity.
Expr exponent(const Expr& y, const Expr& log) {
  return select(log == 0.0 || y == 0.0, 0.0, y * log);
}

Expr pow_in_float(const Expr& x, const Expr& y) {
  const DataType wide = f64.with_lanes(x.dtype().lanes);
  const Expr a = cast(wide, fabs(x));
  const auto [m, k] = split_normal(a);
  const Expr f = m - 1.0;
  const Expr log = with_ends(fma(f, polynomial(f, log2_for_float), to_float(k)), a);
  // 2^200 is beyond float32, whose rounding makes it infinity.
  const Expr t = clamp(exponent(cast(wide, y), log), -200, 200);
  const auto [n, j] = round_product(t, 1.0);
  return cast(x.dtype(), polynomial(t - n, exp2_for_float) * power_of_two(j));
}

/// log(1 + f) with a relative error of 2^-64 or so.
DoubleWord log_of(const Expr& f) {
  // s = f / (2 + f) in two words, by one division.
  const Expr d = f + 2.0;
  const Expr lost_of_d = f - (d - 2.0);
  const Expr inverse = 1.0 / d;
  const Expr hi = f * inverse;
  const DoubleWord s = {hi, fma(hi * -1.0, lost_of_d, fma(hi * -1.0, d, f)) * inverse};
  // log = 2s + s (z (2/3 + z tail(z))), z = s^2.
  const Expr z = s.hi * s.hi;
  const Expr z_lo = fma(s.hi, s.hi, z * -1.0) + s.hi * 2.0 * s.lo;
  const DoubleWord p =
      fast_two_sum(constant(f.dtype(), 0x1.5555555555555p-1), polynomial(z, log_tail) * z);
  const DoubleWord t = multiply({z, z_lo}, {p.hi, p.lo + 0x1.5555555555555p-55});
  const DoubleWord u = multiply(s, t);
  const DoubleWord sum = fast_two_sum(s.hi * 2.0, u.hi);
  return {sum.hi, sum.lo + fma(s.lo, 2.0, u.lo)};
}

Expr pow_in_double(const Expr& x, const Expr& y) {
  const Expr a = fabs(x);
  const auto [m, k] = split(a);
  const Expr n = to_float(k);
  const DoubleWord mantissa_log = log_of(m - 1.0);
  const DoubleWord sum = fast_two_sum(n * 0x1.62e42fefa3800p-1, mantissa_log.hi);
  const DoubleWord log =
      fast_two_sum(sum.hi, sum.lo + fma(n, 0x1.ef35793c76730p-45, mantissa_log.lo));

  const Expr log_hi = with_ends(log.hi, a);
  const Expr t = exponent(y, log_hi);
  const Expr lost = fma(y, log_hi, t * -1.0) + y * log.lo;
  const Expr t_lo = select(fabs(t) < 750.0 && t != 0.0, lost, 0.0);

  const auto [r_hi, j] = reduce_exp(clamp(t, -750, 750));
  return scale(exp_of_reduced(r_hi + t_lo), j);
}

/// `y` when it is a small whole constant; else 0.
int small_power(const Expr& y) {
  const Expr scalar = y.as<Broadcast>() ? y.as<Broadcast>()->value : y;
  const double* value = as_float(scalar);
  return value && (*value == 1 || *value == 2 || *value == 3) ? static_cast<int>(*value) : 0;
}

}  // namespace

Expr lower_pow(const Expr& x, const Expr& y) {
  switch (small_power(y)) {
    case 1: return x;
    case 2: return x * x;
    case 3: return x * x * x;
    default: break;
  }
  const Expr size = is_double(x) ? pow_in_double(x, y) : pow_in_float(x, y);
  // pow(1, NaN) = 1, but pow(-1, NaN) is not a number.
  const Expr r = select(y == y || x == 1.0, size, y);

  const Expr whole = trunc(y) == y;
  const Expr half = y * 0.5;
  const Expr odd = whole && trunc(half) != half;
  const Expr sign = sign_bit(x);
  const Expr result = flip_sign(r, select(odd, sign, 0));
  const Expr undefined = x < 0.0 && x > -infinite && y == y && !whole;
  return select(undefined, not_a_number, result);
}

}  // namespace loopsmith::math
