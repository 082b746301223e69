// SPDX-License-Identifier: Apache-2.0
// The numbers that stand for floating-point values in ring mode.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "loopsmith/ir/data_type.h"

namespace loopsmith::interp {

/// The integers modulo the prime 2^61 - 1. Sums and products are exact in any order, so two
/// programs that differ by the order of a sum agree to the last bit.
namespace ring {

inline constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

/// Any number below 2^64 as an element.
constexpr std::uint64_t reduce(std::uint64_t value) {
  value = (value & prime) + (value >> 61);
  return value >= prime ? value - prime : value;
}
constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= prime ? sum - prime : sum;
}
constexpr std::uint64_t negate(std::uint64_t a) {
  return a == 0 ? 0 : prime - a;
}
constexpr std::uint64_t subtract(std::uint64_t a, std::uint64_t b) {
  return add(a, negate(b));
}
constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return add(static_cast<std::uint64_t>(product) & prime,
             static_cast<std::uint64_t>(product >> 61));
}
/// The element that gives 1 with `a`, which is not 0.
std::uint64_t inverse(std::uint64_t a);

/// Where an element stands in the order of comparisons: -(prime - 1) / 2 to (prime - 1) / 2.
constexpr std::int64_t ordered(std::uint64_t a) {
  return a > prime / 2 ? static_cast<std::int64_t>(a) - static_cast<std::int64_t>(prime)
                       : static_cast<std::int64_t>(a);
}
/// The last element of that order; its negation is the first.
inline constexpr std::uint64_t largest = prime / 2;

constexpr std::uint64_t from_int(std::int64_t value) {
  const std::uint64_t magnitude =
      reduce(value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
  return value < 0 ? negate(magnitude) : magnitude;
}

/// m * 2^e exactly; infinities, and the largest finite values of `type`, are the ends of the order,
/// so that a minimum or maximum may start from them; NaN is a number like any other.
std::uint64_t from_double(DataType type, double value);

/// The result of an operation that is not of the field: a hash of its name and operands.
std::uint64_t hash(std::uint64_t seed, std::string_view operation,
                   std::initializer_list<std::uint64_t> operands);

}  // namespace ring
}  // namespace loopsmith::interp
