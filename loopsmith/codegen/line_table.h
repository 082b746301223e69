// SPDX-License-Identifier: Apache-2.0
// Generated code, and which line of the program each of its lines was made of.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/ref.h"

namespace loopsmith {

/// The line on which a statement stands in a text of the program, by identity; lines count from 1.
using StatementLines = std::unordered_map<const Object*, std::uint32_t>;

/// A text, and for each of its lines the line of the program that it was made of; 0: none.
struct TextWithLines {
  std::string text;
  std::vector<std::uint32_t> lines;
};

}  // namespace loopsmith
