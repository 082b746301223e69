// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace loopsmith {

/// Where the user wrote something, and the schedule step that last changed it. All zero: unknown.
struct Span {
  std::uint32_t source = 0;  ///< See `source_name`. 0: unknown.
  std::uint32_t line = 0;    ///< Counts from 1.
  std::uint16_t column = 0;  ///< Counts from 1. 0: the whole line.
  std::uint16_t length = 0;  ///< Characters from `column` on.
  std::uint32_t step = 0;    ///< The schedule step, counted from 1. 0: the user's own line.

  bool operator==(const Span&) const = default;
  bool known() const { return source != 0; }
};
static_assert(sizeof(Span) == 16);

/// The id of a source, by its name (a path, `<notebook 3>`, ...). The same name gives the same id.
/// Its `text`, if given, is what errors quote; else they read the file.
std::uint32_t source_id(std::string_view name, std::string_view text = {});

/// The name of a source; empty for id 0.
std::string source_name(std::uint32_t id);

/// Line `line` of a source without its line break; empty when it cannot be read.
std::string source_line(std::uint32_t id, std::uint32_t line);

/// `matmul.py:14`, then the line and a row of carets under what `span` covers; empty when unknown.
std::string quote(const Span& span);

}  // namespace loopsmith
