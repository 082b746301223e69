// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace loopsmith {

/// What to write here for a word of another system; empty for a word that is not known.
std::string_view hint_for_other_word(std::string_view word);

}  // namespace loopsmith
