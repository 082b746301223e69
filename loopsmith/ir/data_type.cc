// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace loopsmith {
namespace {

struct FloatFormat {
  int mantissa_bits;
  int min_exponent;  ///< Of the smallest normal number.
  double largest;
};

FloatFormat float_format(DataType type) {
  if (type.code == TypeCode::float8_e4m3) return {3, -6, 448.0};
  if (type.code == TypeCode::float8_e5m2) return {2, -14, 57344.0};
  if (type.is_bfloat16()) return {7, -126, std::ldexp(255.0, 120)};
  if (type.bits == 16) return {10, -14, 65504.0};
  if (type.bits == 32) return {23, -126, std::numeric_limits<float>::max()};
  return {52, -1022, std::numeric_limits<double>::max()};
}

}  // namespace

std::int64_t min_int(DataType type) {
  if (type.is_uint()) return 0;
  return type.bits >= 64 ? std::numeric_limits<std::int64_t>::min()
                         : -(std::int64_t{1} << (type.bits - 1));
}

std::int64_t max_int(DataType type) {
  const int bits = type.is_uint() ? type.bits : type.bits - 1;
  return bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
}

double max_float(DataType type) {
  return float_format(type).largest;
}

double round_to(DataType type, double value) {
  if (type.bits >= 64 || !std::isfinite(value) || value == 0) {
    if (type.code == TypeCode::float8_e4m3 && std::isinf(value)) return std::copysign(448.0, value);
    return value;
  }
  if (type.code == TypeCode::float_ && type.bits == 32) return static_cast<float>(value);
  const FloatFormat format = float_format(type);
  int exponent = 0;
  std::frexp(value, &exponent);  // value = f * 2^exponent, 0.5 <= |f| < 1
  const int quantum = std::max(exponent - 1, format.min_exponent) - format.mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::abs(rounded) <= format.largest) return rounded;
  return type.code == TypeCode::float8_e4m3
             ? std::copysign(format.largest, value)
             : std::copysign(std::numeric_limits<double>::infinity(), value);
}

std::int64_t wrap_to(DataType type, std::int64_t value) {
  if (type.bits >= 64) return value;
  const int unused = 64 - type.bits;
  const auto shifted = static_cast<std::uint64_t>(value) << unused;
  return type.is_uint() ? static_cast<std::int64_t>(shifted >> unused)
                        : static_cast<std::int64_t>(shifted) >> unused;
}

}  // namespace loopsmith
