// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace loopsmith {

/// The annotation of a parallel loop that cuts one of independent iterations into parts: no two of
/// its iterations share elements that move with loops whose bounds are read from memory.
inline constexpr std::string_view own_elements_key = "own_elements";

}  // namespace loopsmith
