// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string_view>

namespace loopsmith {

/// The length of the UTF-8 character at the start of `text`, which is not empty; 0 when it is none.
std::size_t utf8_length(std::string_view text);

/// True when `text` is UTF-8 from its start to its end.
bool is_utf8(std::string_view text);

}  // namespace loopsmith
