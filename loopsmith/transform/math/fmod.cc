// SPDX-License-Identifier: Apache-2.0
// fmod, exact, without a loop: |x| = m 2^i, |y| = n 2^j with whole m and n; for i >= j the
// remainder is (m 2^(i-j) mod n) 2^j, and the power modulo n comes by squaring a fixed number of
// times. Whole numbers are floats here, remainders between -n and n until the end.
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/math_builder.h"

namespace loopsmith::math {
namespace {

constexpr std::uint64_t mantissa_mask = 0xfffffffffffff;

/// The mantissa of a float64 as a whole number below 2^(bits + 1).
Expr whole_mantissa(const Expr& bits, int mantissa_bits) {
  const std::uint64_t exponent = 1023 + static_cast<std::uint64_t>(mantissa_bits);
  return from_bits((bits & mantissa_mask) | (exponent << 52));
}

/// The difference of two biased exponents, at least 0 and at most `most`.
Expr exponent_difference(const Expr& of_x, const Expr& of_y, int most) {
  const Expr difference = select(of_x > of_y, of_x - of_y, 0);
  return select(difference > most, most, difference);
}

/// A remainder between -n and n as one between 0 and n.
Expr to_least(const Expr& r, const Expr& n) {
  const Expr positive = select(r < 0.0, r + n, r);
  return select(positive >= n, positive - n, positive);
}

/// For operands that were float32: products of two remainders are exact.
Expr remainder_of_floats(const Expr& ax, const Expr& ay) {
  const Expr x_bits = bits_of(ax);
  const Expr y_bits = bits_of(ay);
  const Expr m = whole_mantissa(x_bits, 23);
  const Expr n = whole_mantissa(y_bits, 23);
  const Expr inverse = 1.0 / n;
  const auto mod_n = [&](const Expr& p) { return fma(nearbyint(p * inverse) * -1.0, n, p); };

  const Expr k = exponent_difference(x_bits >> 52, y_bits >> 52, 300);
  Expr r = power_of_two(k >> 4);
  for (int bit = 3; bit >= 0; --bit) {
    const Expr squared = mod_n(r * r);
    r = select((k & (1 << bit)) != 0, squared * 2.0, squared);
  }
  r = to_least(mod_n(m * mod_n(r)), n);
  return r * from_bits((y_bits & ~mantissa_mask) - (std::uint64_t{23} << 52));
}

/// a b mod n for float64 of up to 53 bits: the product in two words.
Expr multiply_modulo(const Expr& a, const Expr& b, const Expr& n) {
  const Expr p = a * b;
  const Expr lost = fma(a, b, p * -1.0);
  return fma(nearbyint(p / n) * -1.0, n, p) + lost;
}

Expr remainder_of_doubles(const Expr& ax, const Expr& ay) {
  const Format& format = format_of(ax);
  const Expr x_small = ax < format.smallest_normal;
  const Expr y_small = ay < format.smallest_normal;
  const Expr x_bits = bits_of(select(x_small, ax * format.to_normal, ax));
  const Expr y_bits = bits_of(select(y_small, ay * format.to_normal, ay));
  const Expr m = whole_mantissa(x_bits, 52);
  const Expr n = whole_mantissa(y_bits, 52);

  // Exponents count from one below that of the least subnormal number, so as to be unsigned.
  const auto exponent = [&](const Expr& bits, const Expr& small) {
    return (bits >> 52) + select(small, constant(bits.dtype(), 0), format.to_normal_exponent);
  };
  const Expr j = exponent(y_bits, y_small);
  const Expr k = exponent_difference(exponent(x_bits, x_small), j, 2200);
  Expr r = power_of_two(k >> 6);
  for (int i = 0; i < 6; ++i) r = multiply_modulo(r, r, n);
  const Expr rest = k & 63;
  const Expr half = rest >> 1;
  r = multiply_modulo(r, power_of_two(half), n);
  r = multiply_modulo(r, power_of_two(rest - half), n);
  r = multiply_modulo(r, m, n);
  r = to_least(multiply_modulo(r, constant(r.dtype(), 1.0), n), n);
  return scale(r, j - (format.bias + format.mantissa_bits + format.to_normal_exponent));
}

}  // namespace

Expr lower_fmod(const Expr& x, const Expr& y) {
  const Expr ax = fabs(x);
  const Expr ay = fabs(y);
  Expr r;
  if (is_double(x)) {
    r = remainder_of_doubles(ax, ay);
  } else {
    const DataType wide = f64.with_lanes(x.dtype().lanes);
    r = cast(x.dtype(), remainder_of_floats(cast(wide, ax), cast(wide, ay)));
  }
  r = copysign(select(ax < ay, ax, r), x);
  const Expr defined = ax < infinite && ay > 0.0 && ay == ay;
  return select(defined, r, not_a_number);
}

}  // namespace loopsmith::math
