// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/float_bits.h"

#include <bit>
#include <cmath>

namespace loopsmith::detail {

std::uint64_t bits_of(DataType element, double value) {
  const std::uint64_t sign = std::signbit(value) ? 1 : 0;
  if (element.is_bfloat16()) return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
  if (!element.is_float8()) {
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  }
  const bool is_e4m3 = element.code == TypeCode::float8_e4m3;
  if (std::isnan(value)) return (sign << 7) | (is_e4m3 ? 0x7f : 0x7e);
  if (std::isinf(value)) return (sign << 7) | (is_e4m3 ? 0x7e : 0x7c);
  const int mantissa_bits = is_e4m3 ? 3 : 2;
  const int min_exponent = is_e4m3 ? -6 : -14;
  int exponent = 0;
  std::frexp(value, &exponent);
  const bool is_normal = value != 0 && exponent - 1 >= min_exponent;
  const int unit = (is_normal ? exponent - 1 : min_exponent) - mantissa_bits;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::abs(value), -unit));
  // A normal number's leading bit adds 1 to the exponent's field.
  const std::uint64_t field =
      is_normal ? static_cast<std::uint64_t>(exponent - 1 - min_exponent) : 0;
  return (sign << 7) | ((field << mantissa_bits) + mantissa);
}

}  // namespace loopsmith::detail
