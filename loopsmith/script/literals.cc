// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "loopsmith/script/syntax.h"

namespace loopsmith::parsing {
namespace {

/// Appends a character as UTF-8; a lone surrogate U+DC80 + x is the byte 0x80 + x.
void append_character(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code >= 0xDC80 && code <= 0xDCFF) return add(code - 0xDC00);
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

/// Takes up to `most` digits of `base` off the front; false when there is none.
bool take_digits(std::string_view& rest, std::size_t most, int base, std::uint32_t& code) {
  const std::string_view digits = rest.substr(0, most);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - digits.data()));
  return true;
}

/// What follows a backslash, taken off the front of `rest`; false where digits lack.
bool append_escape(std::string& text, std::string_view& rest) {
  constexpr std::string_view letters = "abfnrtv\\'\"";
  constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\'\"";
  const char c = rest[0];
  std::uint32_t code = 0;
  if (const std::size_t i = letters.find(c); i != std::string_view::npos) {
    rest.remove_prefix(1);
    text += meanings[i];
  } else if (c == '\n' || c == '\r') {
    rest.remove_prefix(rest.starts_with("\r\n") ? 2 : 1);
  } else if (c >= '0' && c <= '7') {
    take_digits(rest, 3, 8, code);
    append_character(text, code);
  } else {
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      text += '\\';  // Of a letter that means nothing.
      return true;
    }
    std::string_view after = rest.substr(1);
    const bool is_code = after.size() >= digits && take_digits(after, digits, 16, code) &&
                         after.size() + digits + 1 == rest.size() && code <= 0x10FFFF;
    if (!is_code) return false;
    append_character(text, code);
    rest = after;
  }
  return true;
}

}  // namespace

TextForm read_text(std::string_view token, std::string& value) {
  bool is_raw = false;
  while (token[0] != '"' && token[0] != '\'') {
    const char prefix = token[0];
    if (std::string_view("bBfFtT").find(prefix) != std::string_view::npos) return TextForm::foreign;
    is_raw = is_raw || prefix == 'r' || prefix == 'R';
    token.remove_prefix(1);
  }
  const bool is_long = token.size() >= 6 && token[1] == token[0] && token[2] == token[0];
  const std::size_t quotes = is_long ? 3 : 1;
  std::string_view rest = token.substr(quotes, token.size() - 2 * quotes);
  while (!rest.empty()) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c == '\\' && !is_raw && !rest.empty()) {
      if (!append_escape(value, rest)) return TextForm::broken;
    } else {
      value += c;
    }
  }
  return TextForm::plain;
}

}  // namespace loopsmith::parsing
