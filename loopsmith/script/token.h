// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "loopsmith/support/span.h"

namespace loopsmith::parsing {

/// A place in a source; both count from 1, columns in characters.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

enum class TokenKind : std::uint8_t { name, number, text, symbol, newline, indent, dedent, end };

struct Token {
  TokenKind kind;
  std::string_view text;  ///< As written.
  Place begin;
  Place end;  ///< Of the character after it.
};

/// The span from `begin` to `end`; to the end of the line, where they are on different lines.
Span span_between(std::uint32_t source, Place begin, Place end);

/// The tokens of `text`, whose first line is `line` of the source. All of it may be indented, as a
/// function is that was cut out of a class. Throws a ScriptError at what is no token of Python.
std::vector<Token> tokens_of(std::string_view text, std::uint32_t source, std::uint32_t line);

}  // namespace loopsmith::parsing
