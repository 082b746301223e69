// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/data_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "loopsmith/ir/find_data_type.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

struct Named {
  std::string_view name;
  DataType type;
};

/// Names that are not a code followed by bits, longest first. The first of each type is printed.
constexpr Named named_types[] = {
    {"e4m3_float8", f8e4m3}, {"e5m2_float8", f8e5m2}, {"float8_e4m3fn", f8e4m3},
    {"float8_e4m3", f8e4m3}, {"float8_e5m2", f8e5m2}, {"bfloat16", bf16},
    {"handle", handle_type}, {"void", void_type},     {"boolean", boolean},
    {"bool", boolean},
};

std::string element_name(DataType type) {
  if (type.is_bool()) return "bool";
  for (const Named& named : named_types) {
    if (named.type == type) return std::string(named.name);
  }
  if (type.is_int()) return fmt::format("int{}", type.bits);
  if (type.is_uint()) return fmt::format("uint{}", type.bits);
  return fmt::format("float{}", type.bits);
}

/// The number at the start of `text`, taken off it; 0 if there is none.
int take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// A type without lanes at the start of `text`, taken off it; void of 1 bit when there is none.
constexpr DataType no_type{TypeCode::handle, 1, 1};

DataType take_element(std::string_view& text) {
  for (const Named& named : named_types) {
    if (take_prefix(text, named.name)) return named.type;
  }
  TypeCode code = TypeCode::int_;
  if (take_prefix(text, "uint")) {
    code = TypeCode::uint;
  } else if (take_prefix(text, "float")) {
    code = TypeCode::float_;
  } else if (!take_prefix(text, "int")) {
    return no_type;
  }
  const int bits = take_number(text);
  const bool valid =
      code == TypeCode::float_ ? bits == 16 || bits == 32 || bits == 64 : bits >= 1 && bits <= 64;
  if (!valid) return no_type;
  return {code, static_cast<std::uint8_t>(bits), 1};
}

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

std::string to_string(DataType type) {
  std::string text = element_name(type.element());
  if (type.is_scalable()) {
    text += fmt::format("xvscalex{}", type.lanes & ~scalable_lanes);
  } else if (type.lanes != 1) {
    text += fmt::format("x{}", type.lanes);
  }
  return text;
}

std::optional<DataType> find_data_type(std::string_view text) {
  std::string_view rest = text;
  DataType type = take_element(rest);
  int lanes = 1;
  const bool is_scalable = type != no_type && take_prefix(rest, "xvscale");
  if (type != no_type && take_prefix(rest, "x")) {
    lanes = take_number(rest);
  } else if (is_scalable) {
    lanes = 0;
  }
  const bool valid = type != no_type && rest.empty() && lanes >= 1 && lanes < scalable_lanes;
  if (!valid) return {};
  return type.with_lanes(is_scalable ? lanes | scalable_lanes : lanes);
}

DataType parse_data_type(std::string_view text) {
  const std::optional<DataType> type = find_data_type(text);
  require(type.has_value(), ErrorKind::type_mismatch, "unknown_data_type",
          hint("write e.g. int32, uint8, bool, float16, bfloat16, float32, e4m3_float8, float32x8"),
          {}, "'{}' is not a data type", text);
  return *type;
}

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
