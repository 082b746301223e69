// SPDX-License-Identifier: Apache-2.0
// Exponentials: x = k log(2) + r (Cody and Waite, log(2) in two parts), a polynomial for e^r, 2^k
// by its bits. The same for bases 2 and 10 with polynomials of their own.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

constexpr double log2_e = 0x1.71547652b82fep+0;

// (e^r - 1 - r) / r^2, weighted for the relative error of e^r: 2^-28, 2^-57.
constexpr double exp_float[] = {0.49999994, 0.166665167, 0.0416681059, 0.00836913195,
                                0.00138364604};
constexpr double exp_double[] = {
    0.50000000000000111,   0.1666666666666585,     0.041666666666520455,   0.0083333333338816689,
    0.0013888888947146143, 0.00019841268625579297, 2.4801488758704267e-05, 2.755840162548055e-06,
    2.763197797329029e-07, 2.4735283895432463e-08};

// The same, weighted for the relative error of e^r - 1: 2^-28, 2^-61.
constexpr double expm1_float[] = {0.5,           0.166666657,   0.0416663587,
                                  0.00833338965, 0.00139407208, 0.000198458889};
constexpr double expm1_double[] = {0.5,
                                   0.16666666666666677,
                                   0.041666666666666685,
                                   0.0083333333333218112,
                                   0.0013888888888893304,
                                   0.00019841269885230981,
                                   2.4801587276532467e-05,
                                   2.7557245302549666e-06,
                                   2.7557334319431315e-07,
                                   2.5108631006541984e-08,
                                   2.0891804972415299e-09};

// The first of these with fewer terms: 2^-23, 2^-51.
constexpr double fast_exp_float[] = {0.499992281, 0.166671157, 0.0418905616, 0.00831256621};
constexpr double fast_exp_double[] = {
    0.49999999999998307,    0.16666666666611119,    0.041666666668147508,
    0.0083333333710926463,  0.0013888888514309991,  0.00019841184901591883,
    2.4801932724146073e-05, 2.7635144563459751e-06, 2.7476768092717711e-07};

// (2^r - 1) / r for |r| <= 1/2: 2^-26, 2^-57.
constexpr double exp2_float[] = {0.693147182,   0.240225941,  0.0555036627,
                                 0.00962544419, 0.0013387932, 0.000133341207};
constexpr double exp2_double[] = {
    0.69314718055994529,    0.24022650695910172,    0.055504108664824567,   0.0096181291075771759,
    0.0013333558145574226,  0.00015403530478578329, 1.5252734725590336e-05, 1.3215424698006452e-06,
    1.0177664243015353e-07, 7.0755661239991596e-09, 4.5175742834823e-10};

// (10^r - 1) / r for |r| <= log10(2)/2: 2^-26, 2^-57.
constexpr double exp10_float[] = {2.30258512, 2.65094447,  2.03465724,
                                  1.17190528, 0.541757286, 0.186895922};
constexpr double exp10_double[] = {
    2.3025850929940459,    2.6509490552392068,    2.0346785922932535,    1.1712551489076137,
    0.53938292925401443,   0.20699584961330897,   0.068089359034808131,  0.019597615253445239,
    0.0050141943148175995, 0.0011576388669928461, 0.00023768382044805187};

}  // namespace

ExpArgument reduce_exp(const Expr& x) {
  const auto [n, k] = round_product(x, log2_e);
  const Expr r = fma(n, pick(x, -0x1.62e4p-1, -0x1.62e42fefa3800p-1), x);
  return {fma(n, pick(x, -0x1.7f7d1cp-20, -0x1.ef35793c76730p-45), r), k};
}

Expr exp_of_reduced(const Expr& r) {
  return fma(fma(polynomial(r, exp_float, exp_double), r, 1.0), r, 1.0);
}

Expr expm1_of_reduced(const Expr& r) {
  return fma(polynomial(r, expm1_float, expm1_double), r * r, r);
}

ExpParts exp_parts(const Expr& x) {
  const auto [r, k] = reduce_exp(x);
  return {exp_of_reduced(r), k};
}

Expr lower_exp(const Expr& x) {
  const auto [p, k] = exp_parts(clamp(x, pick(x, -104, -746), pick(x, 89, 710)));
  return scale(p, k);
}

Expr fast_exp(const Expr& x) {
  // Results that are not normal become 0 or infinity, the latter a little early.
  const double low = pick(x, -87.3, -708.3);
  const auto [r, k] = reduce_exp(clamp(x, low, pick(x, 88.7, 709.7)));
  const Expr q = polynomial(r, fast_exp_float, fast_exp_double);
  const Expr y = fma(fma(q, r, 1.0), r, 1.0) * power_of_two(k);
  return select(x < low, 0.0, y);
}

Expr lower_exp2(const Expr& x) {
  const Expr c = clamp(x, pick(x, -151, -1076), pick(x, 129, 1025));
  const auto [n, k] = round_product(c, 1.0);
  const Expr r = c - n;
  return scale(fma(polynomial(r, exp2_float, exp2_double), r, 1.0), k);
}

Expr lower_exp10(const Expr& x) {
  const Expr c = clamp(x, pick(x, -46, -324), pick(x, 39, 309));
  const auto [n, k] = round_product(c, 3.321928094887362);
  // log10(2) in two parts.
  Expr r = fma(n, pick(x, -0x1.344p-2, -0x1.34413509f7000p-2), c);
  r = fma(n, pick(x, -0x1.3509f8p-18, -0x1.3fde623e2566bp-43), r);
  return scale(fma(polynomial(r, exp10_float, exp10_double), r, 1.0), k);
}

Expr lower_expm1(const Expr& x) {
  // Below the lower bound the result is -1.
  const auto [r, k] = reduce_exp(clamp(x, pick(x, -18, -40), pick(x, 89, 710)));
  const Expr p = expm1_of_reduced(r);
  // 2^k p + (2^k - 1) by halves, for 2^k may overflow where the result does not.
  const Expr half = power_of_two(k - 1);
  const Expr y = fma(half, p, half - 0.5) * 2.0;
  return select(x == 0.0, x, y);  // Keeps -0.
}

Expr lower_sigmoid(const Expr& x) {
  // With e = exp(-|x|): 1 / (1 + e), and e / (1 + e) for negative x. What the roundings of e, of
  // 1 + e and of its reciprocal lost is added to first order.
  const auto [r, k] = reduce_exp(clamp(fabs(x) * -1.0, pick(x, -104, -746), 0));
  const Expr w = expm1_of_reduced(r);
  const Expr p = w + 1.0;
  const Expr lost_of_p = w - (p - 1.0);
  const Expr e = scale(p, k);
  const Expr sum = e + 1.0;
  const Expr inverse = 1.0 / sum;
  const Expr lost = fma((sum - 1.0) - e, inverse, fma(sum * -1.0, inverse, 1.0));
  const Expr negative = x < 0.0;
  const Expr numerator = select(negative, e, 1.0);
  // 2 - p stands for 1 / p.
  const Expr correction = select(negative, fma(lost_of_p, 2.0 - p, lost), lost);
  return fma(numerator, inverse, numerator * inverse * correction);
}

Expr fast_sigmoid(const Expr& x) {
  return 1.0 / (fast_exp(x * -1.0) + 1.0);
}

}  // namespace loopsmith::math
