// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_literals.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "loopsmith/support/utf8.h"

namespace loopsmith::detail {
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
    const std::string text = fmt::format("{:.{}g}", value, digits);
    const double shown = std::strtod(text.c_str(), nullptr);
    if (round_to(type, shown) == value) return fmt::format("{}", shown);
  }
  return fmt::format("{}", value);
}

}  // namespace loopsmith::detail
