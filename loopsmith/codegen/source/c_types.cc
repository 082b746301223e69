// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_types.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <limits>

#include "loopsmith/codegen/float_bits.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// The bits of the C integer that holds the type.
int container_bits(DataType dtype) {
  if (dtype.bits <= 8) return 8;
  if (dtype.bits <= 16) return 16;
  return dtype.bits <= 32 ? 32 : 64;
}

}  // namespace

std::string c_type(DataType dtype) {
  if (dtype.is_handle()) return "void*";
  if (dtype.is_void()) return "void";
  if (dtype.is_bool()) return "bool";
  if (dtype.is_integer()) {
    return fmt::format("{}int{}_t", dtype.is_uint() ? "u" : "", container_bits(dtype));
  }
  if (is_narrow_float(dtype)) return dtype.bits == 16 ? "uint16_t" : "uint8_t";
  return dtype.bits == 32 ? "float" : "double";
}

std::string c_memory_type(DataType element) {
  if (element.is_bool() || shares_bytes(element) || has_odd_bytes(element)) return "uint8_t";
  return c_type(element);
}

std::string c_suffix(DataType dtype) {
  if (dtype.is_bool()) return "b1";
  if (dtype.is_integer()) return fmt::format("{}{}", dtype.is_uint() ? "u" : "i", dtype.bits);
  if (dtype.is_bfloat16()) return "bf16";
  if (dtype.code == TypeCode::float8_e4m3) return "e4m3";
  if (dtype.code == TypeCode::float8_e5m2) return "e5m2";
  return dtype.is_handle() ? "ptr" : fmt::format("f{}", dtype.bits);
}

std::string c_constant(DataType dtype, std::int64_t value) {
  if (dtype.is_bool()) return value ? "true" : "false";
  const bool is_long = container_bits(dtype) == 64;
  if (dtype.is_uint()) {
    return fmt::format("{}{}", static_cast<std::uint64_t>(value), is_long ? "ULL" : "U");
  }
  // The smallest number has no literal: its magnitude does not fit.
  if (value == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  if (value == std::numeric_limits<std::int32_t>::min()) return "INT32_MIN";
  const bool needs_suffix = value > INT32_MAX || value < INT32_MIN;
  return fmt::format("{}{}", value, needs_suffix ? "LL" : "");
}

std::string c_constant(DataType dtype, double value) {
  if (is_narrow_float(dtype)) {
    return fmt::format("0x{:0{}x}", bits_of(dtype, value), dtype.bits / 4);
  }
  if (std::isnan(value)) return dtype.bits == 32 ? "NAN" : "(double)NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text =
      dtype.bits == 32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return dtype.bits == 32 ? text + "f" : text;
}

std::string c_identifier(std::string_view name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

std::string c_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

bool is_narrow_float(DataType dtype) {
  return dtype.is_float() && dtype.bits < 32;
}

bool has_c_width(DataType dtype) {
  return dtype.is_integer() && dtype.bits == container_bits(dtype);
}

bool fits_int32(const ConstIntBound& bound) {
  return bound.min_value >= INT32_MIN && bound.max_value <= INT32_MAX;
}

bool shares_bytes(DataType element) {
  return element.is_integer() && element.bits < 8 && !element.is_bool();
}

bool has_odd_bytes(DataType element) {
  const int bytes = element.element().bytes();
  return element.is_integer() && !element.is_bool() && (bytes & (bytes - 1)) != 0;
}

}  // namespace loopsmith::detail
