// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_literals.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace loopsmith::detail {
namespace {

/// The length of the UTF-8 character at the start of `text`; 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string string_literal(std::string_view text) {
  std::string literal = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      literal += fmt::format("\\udc{:02x}", byte);
    } else if (byte == '"' || byte == '\\') {
      literal += '\\';
      literal += text[i];
    } else if (byte == '\n') {
      literal += "\\n";
    } else if (byte == '\t') {
      literal += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      literal += fmt::format("\\x{:02x}", byte);
    } else {
      literal += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return literal + '"';
}

std::string float_literal(DataType type, double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    if (round_to(type, std::strtod(text.c_str(), nullptr)) == value) return text;
  }
  return fmt::format("{}", value);
}

}  // namespace loopsmith::detail
