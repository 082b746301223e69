// SPDX-License-Identifier: Apache-2.0
// asin and acos with asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)) for x > 1/2; atan with the argument
// brought below tan(pi/8) by one division.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// (asin(x) / x - 1) / x^2 in x^2 for |x| <= 1/2: 2^-31, 2^-59.
constexpr double asin_float[] = {0.166666597,  0.0750052184, 0.0445136093,
                                 0.0318349823, 0.0143377734, 0.0376554765};
constexpr double asin_double[] = {
    0.16666666666666763,  0.074999999999700473,  0.044642857175391799, 0.030381942667881804,
    0.022372216173300808, 0.017351589718156445,  0.013981098849163579, 0.011396550723006072,
    0.010793937015337495, 0.0036531021869657082, 0.021840935798821296, -0.021193158024298896,
    0.032753157221728044};

// (atan(x) / x - 1) / x^2 in x^2 for |x| <= tan(pi/8): 2^-30, 2^-59.
constexpr double atan_float[] = {-0.333333164, 0.199985251, -0.142442971, 0.105982661,
                                 -0.0608734153};
constexpr double atan_double[] = {
    -0.33333333333333193,  0.19999999999952173,  -0.14285714280052647,  0.111111107762198,
    -0.090908975485025231, 0.076920564760908153, -0.066630613504263123, 0.058475770853479749,
    -0.050378906977941021, 0.038028448584590181, -0.017867457029231974};

/// pi/2 in two words of the precision of `x`.
DoubleWord half_pi(const Expr& x) {
  return {constant(x.dtype(), pick(x, 0x1.921fb6p+0, 0x1.921fb54442d18p+0)),
          constant(x.dtype(), pick(x, -0x1.777a5cp-25, 0x1.1a62633145c07p-54))};
}

/// asin(s) = s + s p, where s is |x|, or the root of (1 - |x|) / 2 for |x| > 1/2.
struct AsinParts {
  Expr large;  ///< |x| > 1/2.
  Expr s;
  Expr lost;  ///< What the root lost.
  Expr p;
};

AsinParts asin_parts(const Expr& x) {
  const Expr a = fabs(x);
  const Expr large = a > 0.5;
  const Expr z = select(large, fma(a, -0.5, 0.5), a * a);
  const Expr root = sqrt(z);
  const Expr error = fma(root * -1.0, root, z) * 0.5 / root;
  const Expr s = select(large, root, a);
  // Of (1 - |x|) / 2 = 0 there is nothing to lose, and the quotient is not a number.
  const Expr lost = select(large && a != 1.0, error, 0.0);
  return {large, s, lost, polynomial(z, asin_float, asin_double) * z};
}

/// atan(t) = t + t p.
Expr atan_factor(const Expr& t) {
  const Expr z = t * t;
  return polynomial(z, atan_float, atan_double) * z;
}

}  // namespace

Expr lower_asin(const Expr& x) {
  const auto [large, s, lost, p] = asin_parts(x);
  const DoubleWord right = half_pi(x);
  const Expr twice = s * 2.0;
  const Expr from_right = (right.hi - twice) + fma(p * -1.0, twice, right.lo - lost * 2.0);
  return copysign(select(large, from_right, fma(p, s, s)), x);
}

Expr lower_acos(const Expr& x) {
  const auto [large, s, lost, p] = asin_parts(x);
  const DoubleWord right = half_pi(x);
  const Expr rest = fma(p, s, lost);
  const Expr twice = (s + rest) * 2.0;
  const Expr of_negative = right.hi * 2.0 - (twice - right.lo * 2.0);
  const Expr of_small = right.hi - (copysign(s, x) - (right.lo - copysign(rest, x)));
  return select(large, select(x < 0.0, of_negative, twice), of_small);
}

Expr lower_atan(const Expr& x) {
  const Expr a = fabs(x);
  const Expr middle = a > 0x1.a82799p-2;  // tan(pi/8)
  const Expr large = a > 0x1.3504f3p+1;   // tan(3 pi/8)
  // atan(a) = angle + atan(t), where t is a, (a - 1) / (a + 1) or -1 / a.
  const Expr numerator = select(large, -1.0, select(middle, a - 1.0, a));
  const Expr denominator = select(large, a, select(middle, a + 1.0, 1.0));
  const Expr t = numerator / denominator;
  const DoubleWord right = half_pi(x);
  const Expr half_turns = select(large, 1.0, select(middle, constant(x.dtype(), 0.5), 0.0));
  const Expr sum = t + fma(atan_factor(t), t, half_turns * right.lo);
  return copysign(fma(half_turns, right.hi, sum), x);
}

Expr lower_atan2(const Expr& y, const Expr& x) {
  const Expr ax = fabs(x);
  const Expr ay = fabs(y);
  const Expr steep = ay > ax;
  Expr larger = select(steep, ay, ax);
  Expr smaller = select(steep, ax, ay);
  // So that their sum does not overflow, and subnormal operands keep their digits.
  const Expr huge = larger > pick(x, 0x1p125, 0x1p1021);
  const Expr tiny = larger < pick(x, 0x1p-100, 0x1p-900);
  const Expr factor =
      select(huge, 0.25, select(tiny, constant(x.dtype(), pick(x, 0x1p24, 0x1p53)), 1.0));
  const Expr both_infinite = smaller == infinite;
  larger = select(both_infinite, 1.0, larger * factor);
  smaller = select(both_infinite, 1.0, smaller * factor);
  larger = select(larger == 0.0, 1.0, larger);

  const Expr middle = smaller > larger * 0x1.a82799p-2;
  const Expr t =
      select(middle, smaller - larger, smaller) / select(middle, smaller + larger, larger);
  // The angle is turns * pi/2 + sign * atan(t).
  Expr turns = select(middle, constant(x.dtype(), 0.5), 0.0);
  Expr sign = constant(x.dtype(), 1.0);
  turns = select(steep, 1.0 - turns, turns);
  sign = select(steep, -1.0, sign);
  const Expr left = sign_bit(x) != 0;
  turns = select(left, 2.0 - turns, turns);
  sign = select(left, sign * -1.0, sign);
  const DoubleWord right = half_pi(x);
  const Expr r = fma(turns, right.hi, sign * t + fma(atan_factor(t) * sign, t, turns * right.lo));
  return copysign(select(x == x, select(y == y, r, y), x), y);
}

}  // namespace loopsmith::math
