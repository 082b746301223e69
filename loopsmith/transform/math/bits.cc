// SPDX-License-Identifier: Apache-2.0
// What works on the bits of a float.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/math_builder.h"

namespace loopsmith::math {

Expr lower_nextafter(const Expr& x, const Expr& y) {
  // Away from zero the bits count up, toward zero down.
  const Expr away = (x < y) == (x > 0.0);
  const Expr bits = bits_of(x);
  Expr r = reinterpret(x.dtype(), select(away, bits + 1, bits - 1));
  const Expr smallest = constant(bits.dtype(), 1) | sign_bit(y);
  r = select(x == 0.0, reinterpret(x.dtype(), smallest), r);
  r = select(x == y, y, r);
  return select(x == x && y == y, r, x + y);
}

Expr lower_ldexp(const Expr& x, const Expr& n) {
  const Format& format = format_of(x);
  const Expr a = fabs(x);
  const Expr small = a < format.smallest_normal;
  const Expr bits = bits_of(select(small, a * format.to_normal, a));
  const Expr exponent = (bits >> format.mantissa_bits) - format.bias;
  const Expr m = from_bits(bits - (exponent << format.mantissa_bits));  // in [1, 2)

  // The sum of exponents, held where `scale` takes it: beyond, the result is 0 or infinite. It is
  // counted from `offset`, so as to be unsigned.
  constexpr int most = 5000, offset = 10000;
  const DataType type = bits.dtype();
  const Expr bounded = select(n > most, most, select(n < -most, -most, n));
  const Expr correction = select(small, constant(type, format.to_normal_exponent), 0);
  Expr sum = cast(type, bounded) + exponent - correction + offset;
  const int low = offset + static_cast<int>(pick(x, -240, -2000));
  const int high = offset + static_cast<int>(pick(x, 250, 2040));
  sum = select(sum > high, high, select(sum < low, low, sum));
  return select(a < infinite && a > 0.0, copysign(scale(m, sum - offset), x), x);
}

}  // namespace loopsmith::math
