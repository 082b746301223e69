// SPDX-License-Identifier: Apache-2.0
// Logarithms: x = m 2^k with m near 1, f = m - 1; log(1 + f) by a polynomial in f (float32), or in
// s = f / (2 + f) as fdlibm has it (float64).
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// (log(1 + f) - f) / f^2 on [sqrt(1/2) - 1, sqrt(2) - 1]: 2^-30.
constexpr double log_float[] = {-0.5,         0.333333075, -0.249999762, 0.200023919,
                                -0.166698948, 0.142165825, -0.123747289, 0.118763261,
                                -0.118304193, 0.0694728866};

// (log(1 + f) log2(e) - f log2(e)') / f, where ' is rounding to float32: 2^-27; the same for 10.
constexpr double log2_float[] = {1.92008578e-08, -0.721347332, 0.480898231, -0.36069867,
                                 0.288569987,    -0.239566073, 0.204514414, -0.191430286,
                                 0.186919793,    -0.109945327};
constexpr double log10_float[] = {-1.01207416e-08, -0.217147186, 0.144764796,  -0.108580709,
                                  0.0868661925,    -0.072126165, 0.0616270751, -0.0576153025,
                                  0.0557949059,    -0.0324803777};

// (log((1 + s) / (1 - s)) / s - 2) / z with z = s^2: 2^-58.
constexpr double log_double[] = {0.66666666666667351, 0.39999999999408686, 0.28571428743929678,
                                 0.22222198396618481, 0.18183574353544615, 0.15313774038631942,
                                 0.14798902550432277};

/// log(1 + f) as two words of together 60 bits.
DoubleWord log_words(const Expr& f) {
  const auto [square, rest] = log_series(f);
  const Expr hi = f - square;
  return {hi, ((f - hi) - square) + rest};
}

/// (hi + lo) * base + k * of_two, where base and of_two are each given in two words.
Expr change_base(const DoubleWord& log, const Expr& k_of_two, const Expr& k_of_two_lo, double base,
                 double base_lo) {
  const Expr hi = log.hi * base;
  const Expr lo = fma(log.hi, base, hi * -1.0) + fma(log.hi, base_lo, log.lo * base);
  const DoubleWord sum = fast_two_sum(k_of_two, hi);
  return sum.hi + (sum.lo + (k_of_two_lo.defined() ? lo + k_of_two_lo : lo));
}

}  // namespace

LogParts split_normal(const Expr& x) {
  const Format& format = format_of(x);
  // Adding what lies between the root of 1/2 and 1 carries into the exponent from that root on.
  const Expr raised = bits_of(x) + (format.one_bits - format.sqrt_half_bits);
  const Expr k = (raised >> format.mantissa_bits) - format.bias;
  return {from_bits(bits_of(x) - (k << format.mantissa_bits)), k};
}

LogParts split(const Expr& x) {
  const Format& format = format_of(x);
  const Expr small = x < format.smallest_normal;
  const auto [m, k] = split_normal(select(small, x * format.to_normal, x));
  return {m, k - select(small, constant(k.dtype(), format.to_normal_exponent), 0)};
}

LogSeries log_series(const Expr& f) {
  const Expr s = f / (f + 2.0);
  const Expr z = s * s;
  const Expr square = f * f * 0.5;
  return {square, s * (square + polynomial(z, log_double) * z)};
}

Expr log_core(const Expr& f, const Expr& k) {
  if (is_double(f)) {
    const auto [square, rest] = log_series(f);
    const Expr low = fma(k, 0x1.ef35793c76730p-45, rest);
    return fma(k, 0x1.62e42fefa3800p-1, f - (square - low));
  }
  const Expr t = f * f * polynomial(f, log_float);
  return fma(k, 0x1.62e4p-1, fma(k, 0x1.7f7d1cp-20, t) + f);
}

Expr log_special(const Expr& y, const Expr& x) {
  const Expr finite = select(x < infinite, y, x);  // Infinity and NaN as they are.
  return select(x < 0.0, not_a_number, select(x == 0.0, -infinite, finite));
}

Expr lower_log(const Expr& x) {
  const auto [m, k] = split(x);
  return log_special(log_core(m - 1.0, to_float(k)), x);
}

Expr fast_log(const Expr& x) {
  const auto [m, k] = split_normal(x);
  return log_core(m - 1.0, to_float(k));
}

Expr lower_log2(const Expr& x) {
  const auto [m, k] = split(x);
  const Expr f = m - 1.0;
  const Expr n = to_float(k);
  if (is_double(x)) {
    return log_special(
        change_base(log_words(f), n, nullptr, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56), x);
  }
  return log_special(fma(f, 0x1.715476p+0, f * polynomial(f, log2_float)) + n, x);
}

Expr lower_log10(const Expr& x) {
  const auto [m, k] = split(x);
  const Expr f = m - 1.0;
  const Expr n = to_float(k);
  if (is_double(x)) {
    // The first part of log10(2) has 42 bits, so that its product with n is exact.
    return log_special(
        change_base(log_words(f), n * 0x1.34413509f7000p-2, n * 0x1.3fde623e2566bp-43,
                    0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57),
        x);
  }
  const Expr t = fma(f, 0x1.bcb7b2p-2, f * polynomial(f, log10_float));
  return log_special(fma(n, 0x1.344p-2, fma(n, 0x1.3509f8p-18, t)), x);
}

Expr lower_log1p(const Expr& x) {
  // u = 1 + x, and what that lost is added to f at the scale of m.
  const auto [u, lost] = two_sum(constant(x.dtype(), 1.0), x);
  const auto [m, k] = split_normal(u);
  const Expr inverse_scale = select(x < 0x1p60, power_of_two(0 - k), 0.0);
  Expr y = log_core(fma(lost, inverse_scale, m - 1.0), to_float(k));
  y = select(x < infinite, y, x);
  y = select(x < -1.0, not_a_number, select(x == -1.0, -infinite, y));
  return select(fabs(x) < pick(x, 0x1p-26, 0x1p-55), x, y);
}

}  // namespace loopsmith::math
