// SPDX-License-Identifier: Apache-2.0
// The remainder of x / (pi/2). Of the product of x and 2/pi, only some bits count: those above are
// whole turns, those below too small. So a window of 2/pi, chosen by the exponent of x, is
// multiplied exactly (Payne and Hanek 1983).
#include "loopsmith/transform/math/trig_reduce.h"

#include <array>
#include <vector>

#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// ---- float32: in float64, with 1/(2 pi) in pieces of 27 bits, so that products are exact ----

/// Adds the part of `x * piece` that is not whole to `turns`; both are between -1/2 and 1/2.
Expr add_fraction(const Expr& turns, const Expr& x, const Expr& piece) {
  const Expr whole = nearbyint(fma(x, piece, turns));
  return fma(x, piece, whole * -1.0) + turns;
}

Angle reduce_float(const Expr& x) {
  const Expr d = cast(f64.with_lanes(x.dtype().lanes), x);
  // From 2^77 on, the first 54 bits of 1/(2 pi) give whole turns. Below, those after the 134th are
  // too small; above, those after the 188th.
  const Expr large = d >= 0x1p77;
  const auto piece = [&](double of_small, double of_large) {
    return select(large, constant(d.dtype(), of_large), of_small);
  };
  const Expr first = d * piece(0x1.45f306p-3, 0x1.4a7f098p-56);
  Expr turns = first - nearbyint(first);
  turns = add_fraction(turns, d, piece(0x1.b939104p-28, 0x1.57d1f5p-82));
  turns = add_fraction(turns, d, piece(0x1.4a7f098p-56, 0x1.a6ee06cp-109));
  turns = fma(d, piece(0x1.57d1f534ddc0ep-82, 0x1.b14acc9e21c82p-137), turns);

  const auto [quarters, quadrant] = round_product(turns, 4.0);
  const Expr r = fma(quarters, -0.25, turns) * 6.283185307179586;
  return {cast(x.dtype(), r), nullptr, cast(bits_of(x).dtype(), quadrant)};
}

// ---- float64: in 64-bit integers ----

/// 64 zero bits, then the bits of 2/pi.
constexpr std::array<std::uint64_t, 20> two_over_pi = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

constexpr std::uint64_t low_half = 0xffffffff;

/// The 192 bits of `two_over_pi` from bit `position` < 1088 on, as six digits of 32 bits, lowest
/// first.
std::array<Expr, 6> window(const Expr& position) {
  // First whole words: halve the candidates by one bit of the position after the other.
  std::vector<Expr> words;
  for (const std::uint64_t word : two_over_pi) words.push_back(constant(position.dtype(), word));
  for (std::size_t step = 16; step >= 1; step /= 2) {
    const Expr skip = (position & (64 * step)) != 0;
    const std::size_t needed = std::min(words.size(), step + 3);
    for (std::size_t i = 0; i < needed && i + step < words.size(); ++i) {
      words[i] = select(skip, words[i + step], words[i]);
    }
    words.resize(needed);
  }
  // Then bits. Shifting right in two steps keeps the distance below 64.
  const Expr left = position & 63;
  const Expr right = 63 - left;
  std::array<Expr, 6> digits;
  for (std::size_t i = 0; i < 3; ++i) {
    const Expr word = (words[i] << left) | ((words[i + 1] >> 1) >> right);
    digits[5 - 2 * i] = word >> 32;
    digits[4 - 2 * i] = word & low_half;
  }
  return digits;
}

/// mantissa * window modulo 2^192, digits 2 to 5; what digit 0 adds to them is left out.
std::array<Expr, 4> multiply_window(const Expr& mantissa, const std::array<Expr, 6>& digits) {
  const Expr low = mantissa & low_half;
  const Expr high = mantissa >> 32;
  std::array<Expr, 6> sum;
  Expr carry;
  for (std::size_t i = 1; i < 6; ++i) {
    const Expr product = low * digits[i];
    carry = carry.defined() ? product + (carry >> 32) : product;
    sum[i] = carry & low_half;
  }
  carry = nullptr;
  for (std::size_t i = 0; i < 5; ++i) {
    const Expr product = high * digits[i] + sum[i + 1];
    carry = carry.defined() ? product + (carry >> 32) : product;
    sum[i + 1] = carry & low_half;
  }
  return {sum[2], sum[3], sum[4], sum[5]};
}

Angle reduce_double(const Expr& x) {
  // x = mantissa 2^(exponent - 1075). The window starts where the product's bits are worth 2.
  const Expr bits = bits_of(select(x < 0.5, 0.5, x));
  const Expr position = (bits >> 52) - 1013;
  const Expr mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  const auto [d2, d3, d4, d5] = multiply_window(mantissa, window(position));

  // The upper 64 bits hold quarter turns with 62 bits of fraction: round, and keep the rest, raised
  // by a half so as to be unsigned.
  constexpr std::uint64_t half = std::uint64_t{1} << 61;
  const Expr raised = ((d5 << 32) | d4) + half;
  const Expr rest = raised & (2 * half - 1);
  const Expr upper = (to_float(rest >> 32) - 0x1p29) * 0x1p32;
  const DoubleWord sum = fast_two_sum(upper, to_float(rest & low_half));
  const Expr tail = fma(to_float(d2), 0x1p-64, to_float(d3) * 0x1p-32);
  const DoubleWord quarters = fast_two_sum(sum.hi, sum.lo + tail);

  // Times pi/2, scaled by 2^-62.
  constexpr double half_pi = 0x1.921fb54442d18p-62, half_pi_lo = 0x1.1a62633145c07p-116;
  const Expr r = quarters.hi * half_pi;
  const Expr lo =
      fma(quarters.hi, half_pi, r * -1.0) + fma(quarters.hi, half_pi_lo, quarters.lo * half_pi);
  const Expr small = x < 0.7853981633974483;  // pi/4
  return {select(small, x, select(x < infinite, r, not_a_number)), select(small, 0.0, lo),
          select(small, 0, raised >> 62)};
}

}  // namespace

Angle reduce_angle(const Expr& x) {
  return is_double(x) ? reduce_double(x) : reduce_float(x);
}

Angle reduce_small_angle(const Expr& x) {
  const auto [n, quadrant] = round_product(x, 0.6366197723675814);
  // pi/2 in parts; the first fused multiply-add is exact.
  Expr r = fma(n, pick(x, -0x1.921fb6p+0, -0x1.921fb54442d18p+0), x);
  r = fma(n, pick(x, 0x1.777a5cp-25, -0x1.1a62633145c07p-54), r);
  if (!is_double(x)) r = fma(n, 0x1.ee59dap-50, r);
  return {r, nullptr, quadrant};
}

}  // namespace loopsmith::math
