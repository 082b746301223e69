// SPDX-License-Identifier: Apache-2.0
// The names of types.
#include "loopsmith/ir/find_data_type.h"

#include <charconv>

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

}  // namespace loopsmith
