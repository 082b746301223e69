// SPDX-License-Identifier: Apache-2.0
// sin, cos and tan: the angle is brought to [-pi/4, pi/4] exactly enough for every argument
// (trig_reduce.cc), then polynomials.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"
#include "loopsmith/transform/math/trig_reduce.h"

namespace loopsmith::math {
namespace {

// With z = r^2: (sin(r) / r - 1) / z: 2^-27, 2^-57.
constexpr double sin_float[] = {-0.166666552, 0.00833218731, -0.000195178945};
constexpr double sin_double[] = {-0.1666666666666663,     0.0083333333333218407,
                                 -0.00019841269829358409, 2.7557313538429789e-06,
                                 -2.505073437017033e-08,  1.5895431899187122e-10};

// (cos(r) - 1 + z / 2) / z^2: 2^-32, 2^-63.
constexpr double cos_float[] = {0.0416666456, -0.00138873095, 2.44323273e-05};
constexpr double cos_double[] = {0.041666666666666595,   -0.0013888888888873307,
                                 2.4801587288965196e-05, -2.755731420306251e-07,
                                 2.0875703136705441e-09, -1.1358616844451166e-11};

// (tan(r) / r - 1) / z: 2^-29, 2^-56.
constexpr double tan_float[] = {0.333333492,  0.133326724,    0.0540594459, 0.0212827679,
                                0.0108377142, 8.38410124e-05, 0.00438037934};
constexpr double tan_double[] = {
    0.3333333333333276,      0.13333333333417108,     0.053968253925481977,
    0.021869489637398851,    0.0088632187644397311,   0.0035922926857311203,
    0.0014547360439339922,   0.00059515707877422013,  0.0002221071475587194,
    0.00013708824753505265,  -2.7180977402966733e-05, 9.0184436678791708e-05,
    -4.5272689761211102e-05, 2.0958752742072279e-05};

Expr sin_of(const Angle& angle) {
  const Expr& r = angle.r;
  const Expr z = r * r;
  if (!angle.lo.defined()) return fma(polynomial(z, sin_float, sin_double) * z, r, r);
  // As in fdlibm: the second word enters to first order.
  const Expr cube = z * r;
  const Expr high = cube * polynomial(z, std::span(sin_double).subspan(1));
  const Expr rest = fma(z, fma(angle.lo, 0.5, high * -1.0), angle.lo * -1.0);
  return r - (rest - cube * sin_double[0]);
}

Expr cos_of(const Angle& angle) {
  const Expr& r = angle.r;
  const Expr z = r * r;
  if (!angle.lo.defined()) {
    return fma(z * z, polynomial(z, cos_float, cos_double), fma(z, -0.5, 1.0));
  }
  const Expr half = z * 0.5;
  const Expr w = 1.0 - half;
  const Expr high = fma(z * z, polynomial(z, cos_double), r * angle.lo * -1.0);
  return w + (((1.0 - w) - half) + high);
}

/// The quadrants in which sine and cosine change places.
Expr is_odd(const Expr& quadrant) {
  return (quadrant & 1) != 0;
}
/// The sign bit where the quadrant's second bit is set.
Expr sign_of(const Expr& quadrant) {
  return (quadrant & 2) << (quadrant.dtype().bits - 2);
}

/// -1 / (hi + lo).
Expr minus_reciprocal(const DoubleWord& t) {
  const Expr y = -1.0 / t.hi;
  const Expr error = fma(t.lo, y, fma(t.hi, y, 1.0));
  return select(fabs(y) < infinite, fma(y, error, y), y);
}

}  // namespace

Expr lower_sin(const Expr& x) {
  const Angle angle = reduce_angle(fabs(x));
  const Expr y = select(is_odd(angle.quadrant), cos_of(angle), sin_of(angle));
  return flip_sign(y, sign_of(angle.quadrant) ^ sign_bit(x));
}

Expr lower_cos(const Expr& x) {
  const Angle angle = reduce_angle(fabs(x));
  const Expr y = select(is_odd(angle.quadrant), sin_of(angle), cos_of(angle));
  return flip_sign(y, sign_of(angle.quadrant + 1));
}

Expr fast_sin(const Expr& x) {
  const Angle angle = reduce_small_angle(x);
  const Expr y = select(is_odd(angle.quadrant), cos_of(angle), sin_of(angle));
  return flip_sign(y, sign_of(angle.quadrant));
}

Expr fast_cos(const Expr& x) {
  const Angle angle = reduce_small_angle(x);
  const Expr y = select(is_odd(angle.quadrant), sin_of(angle), cos_of(angle));
  return flip_sign(y, sign_of(angle.quadrant + 1));
}

Expr lower_tan(const Expr& x) {
  const Angle angle = reduce_angle(fabs(x));
  const Expr& r = angle.r;
  const Expr z = r * r;
  const Expr p = polynomial(z, tan_float, tan_double) * z;
  Expr tangent, cotangent;
  if (is_double(x)) {
    // tan(r + lo) = tan(r) + lo (1 + tan(r)^2), here with z for the square.
    const DoubleWord t = fast_two_sum(r, fma(p, r, fma(angle.lo, z, angle.lo)));
    tangent = t.hi;
    cotangent = minus_reciprocal(t);
  } else {
    tangent = fma(p, r, r);
    cotangent = -1.0 / tangent;
  }
  return flip_sign(select(is_odd(angle.quadrant), cotangent, tangent), sign_bit(x));
}

}  // namespace loopsmith::math
