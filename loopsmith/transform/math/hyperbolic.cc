// SPDX-License-Identifier: Apache-2.0
// sinh, cosh and tanh: odd polynomials near zero, elsewhere from e^|x|.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// (sinh(x) / x - 1) / x^2 in x^2 for |x| <= 1: 2^-31, 2^-61.
constexpr double sinh_float[] = {0.166666672, 0.00833331048, 0.000198428956, 2.78221341e-06};
constexpr double sinh_double[] = {
    0.16666666666666669,    0.0083333333333329117,  0.00019841269841593389, 2.7557319106771775e-06,
    2.5052130994941199e-08, 1.6056659571694515e-10, 7.776584550894186e-13};

// (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.6: 2^-32, 2^-62.
constexpr double tanh_float[] = {-0.333333313, 0.133332282,   -0.05394971,
                                 0.0217176657, -0.0082214484, 0.00218527159};
constexpr double tanh_double[] = {
    -0.33333333333333326,   0.13333333333331865,     -0.053968253967258253,
    0.021869488502533257,   -0.0088632348660396612,  0.0035921196871236951,
    -0.0014557641728832028, 0.0005896223894513525,   -0.00023751279259044892,
    9.2489089345979876e-05, -3.1177969126129285e-05, 6.5030153294101353e-06};

/// e^a / 2 for a >= 0: the result overflows where sinh and cosh do, not where exp does.
Expr half_exp(const Expr& a) {
  const auto [p, k] = exp_parts(clamp(a, 0, pick(a, 90, 711)));
  return scale(p, k - 1);
}

/// x (1 + z p(z)).
Expr odd_polynomial(const Expr& x, const Expr& z, std::span<const double> in_float,
                    std::span<const double> in_double) {
  return fma(polynomial(z, in_float, in_double) * z, x, x);
}

}  // namespace

Expr lower_sinh(const Expr& x) {
  const Expr a = fabs(x);
  const Expr e = half_exp(a);
  const Expr large = copysign(e - 0.25 / e, x);
  return select(a < 1.0, odd_polynomial(x, x * x, sinh_float, sinh_double), large);
}

Expr lower_cosh(const Expr& x) {
  const Expr e = half_exp(fabs(x));
  return e + 0.25 / e;
}

Expr lower_tanh(const Expr& x) {
  const Expr a = fabs(x);
  // From the upper bound on, the result rounds to 1.
  const auto [p, k] = exp_parts(clamp(a, 0, pick(x, 10, 20)) * 2.0);
  const Expr large = 1.0 - 2.0 / (p * power_of_two(k) + 1.0);
  const Expr small = odd_polynomial(a, x * x, tanh_float, tanh_double);
  return copysign(select(a < 0.6, small, large), x);
}

Expr fast_tanh(const Expr& x) {
  // With t = e^(2|x|) - 1, accurate near zero, tanh|x| = t / (t + 2).
  const auto [r, k] = reduce_exp(clamp(fabs(x), 0, pick(x, 10, 20)) * 2.0);
  const Expr power = power_of_two(k);
  const Expr t = fma(power, expm1_of_reduced(r), power - 1.0);
  return copysign(t / (t + 2.0), x);
}

}  // namespace loopsmith::math
