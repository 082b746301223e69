// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/modular_set.h"

#include <bit>
#include <limits>
#include <numeric>

#include "loopsmith/arith/const_int_bound.h"

namespace loopsmith {

bool ModularSet::contains(std::int64_t value) const {
  if (coeff == 0) return value == base;
  return arith::floor_remainder(value, coeff) == base;
}

namespace arith {
namespace {

using Wide = __int128;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Wide gcd_of(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// {coeff, base} in normal form; everything where it does not fit.
ModularSet normal(Wide coeff, Wide base) {
  if (coeff < 0) coeff = -coeff;
  if (coeff > largest) return {};
  if (coeff == 0) {
    if (base > largest || base < -Wide{largest}) return {};
    return {0, static_cast<std::int64_t>(base)};
  }
  const Wide rest = base % coeff;
  return {static_cast<std::int64_t>(coeff),
          static_cast<std::int64_t>(rest < 0 ? rest + coeff : rest)};
}

/// x with a * x = gcd (mod b): the extended algorithm of Euclid.
Wide inverse(Wide a, Wide b) {
  Wide x = 1;
  Wide next = 0;
  while (b != 0) {
    const Wide quotient = a / b;
    const Wide rest = a % b;
    a = b;
    b = rest;
    const Wide after = x - quotient * next;
    x = next;
    next = after;
  }
  return x;
}

}  // namespace

ModularSet modular(std::int64_t coeff, std::int64_t base) {
  return normal(coeff, base);
}

ModularSet unite(const ModularSet& a, const ModularSet& b) {
  return normal(gcd_of(gcd_of(a.coeff, b.coeff), Wide{a.base} - b.base), a.base);
}

ModularSet intersect(const ModularSet& a, const ModularSet& b) {
  if (a.coeff == 0) return a;
  if (b.coeff == 0) return a.contains(b.base) ? b : a;
  const Wide gcd = gcd_of(a.coeff, b.coeff);
  const Wide difference = Wide{b.base} - a.base;
  if (difference % gcd != 0) return a;
  const Wide modulus = b.coeff / gcd;
  const Wide lcm = a.coeff * modulus;
  if (lcm > largest) return a.coeff >= b.coeff ? a : b;
  // The Chinese remainder theorem: base = a.base + a.coeff * t.
  Wide t = (difference / gcd) % modulus * (inverse(a.coeff / gcd, modulus) % modulus) % modulus;
  if (t < 0) t += modulus;
  return normal(lcm, a.base + a.coeff * t);
}

ModularSet add(const ModularSet& a, const ModularSet& b) {
  return normal(gcd_of(a.coeff, b.coeff), Wide{a.base} + b.base);
}

ModularSet subtract(const ModularSet& a, const ModularSet& b) {
  return normal(gcd_of(a.coeff, b.coeff), Wide{a.base} - b.base);
}

ModularSet multiply(const ModularSet& a, const ModularSet& b) {
  // (p k + m)(q l + n) = pq kl + pn k + qm l + mn
  const Wide p = a.coeff;
  const Wide q = b.coeff;
  return normal(gcd_of(p * q, gcd_of(p * b.base, q * a.base)), Wide{a.base} * b.base);
}

ModularSet floor_divide(const ModularSet& a, std::int64_t divisor) {
  if (divisor == std::numeric_limits<std::int64_t>::min()) return {};
  if (a.coeff % divisor != 0) return {};
  return normal(a.coeff / divisor, floor_quotient(a.base, divisor));
}

ModularSet floor_modulo(const ModularSet& a, std::int64_t divisor) {
  if (a.coeff % (divisor == -1 ? 1 : divisor) == 0)
    return normal(0, floor_remainder(a.base, divisor));
  return normal(gcd_of(a.coeff, divisor), floor_remainder(a.base, divisor));
}

ModularSet wrap(const ModularSet& a, int bits) {
  const auto low = static_cast<std::uint64_t>(a.coeff);
  if (low == 0) return a;
  const int power = std::min(bits, std::countr_zero(low));
  if (power >= 63) return {};
  return normal(Wide{1} << power, a.base);
}

}  // namespace arith
}  // namespace loopsmith
