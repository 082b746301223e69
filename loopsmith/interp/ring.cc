// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/ring.h"

#include <cmath>

namespace loopsmith::interp::ring {
namespace {

/// The finaliser of splitmix64: each bit of the result depends on each of the argument.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t not_a_number = mix(1) & (prime >> 1);

}  // namespace

std::uint64_t inverse(std::uint64_t a) {
  // Fermat: a^(prime - 2).
  std::uint64_t result = 1;
  for (std::uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

std::uint64_t from_double(DataType type, double value) {
  if (std::isnan(value)) return not_a_number;
  if (value < 0) return negate(from_double(type, -value));
  if (std::isinf(value) || value >= max_float(type)) return largest;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  // 2^61 is 1, so a power of two is known by its exponent modulo 61.
  const int power = ((exponent - 53) % 61 + 61) % 61;
  return multiply(reduce(mantissa), std::uint64_t{1} << power);
}

std::uint64_t hash(std::uint64_t seed, std::string_view operation,
                   std::initializer_list<std::uint64_t> operands) {
  std::uint64_t state = mix(seed);
  for (const char c : operation) state = mix(state ^ static_cast<unsigned char>(c));
  for (const std::uint64_t operand : operands) state = mix(state ^ operand);
  return reduce(state);
}

}  // namespace loopsmith::interp::ring
