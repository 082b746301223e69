// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/math_builder.h"

namespace loopsmith::math {
namespace {

/// The root of x^2 + y^2, neither of which may overflow or vanish: both are scaled by a power of
/// two.
Expr hypot_in_double(const Expr& ax, const Expr& ay) {
  const Expr x_larger = ax > ay;
  const Expr larger = select(x_larger, ax, ay);
  const Expr smaller = select(x_larger, ay, ax);
  // The biased exponent, held so that both the factor and its inverse are normal.
  Expr exponent = bits_of(larger) >> 52;
  exponent = select(exponent > 2044, 2044, select(exponent < 2, 2, exponent));
  const Expr factor = from_bits((2046 - exponent) << 52);
  const Expr a = larger * factor;
  const Expr b = smaller * factor;
  return sqrt(fma(a, a, b * b)) * from_bits(exponent << 52);
}

}  // namespace

Expr lower_rsqrt(const Expr& x) {
  return 1.0 / sqrt(x);
}

Expr lower_hypot(const Expr& x, const Expr& y) {
  const Expr ax = fabs(x);
  const Expr ay = fabs(y);
  Expr r;
  if (is_double(x)) {
    r = hypot_in_double(ax, ay);
  } else {
    const DataType wide = f64.with_lanes(x.dtype().lanes);
    const Expr a = cast(wide, x);
    const Expr b = cast(wide, y);
    r = cast(x.dtype(), sqrt(fma(a, a, b * b)));
  }
  return select(ax == infinite || ay == infinite, infinite, r);
}

}  // namespace loopsmith::math
