// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace loopsmith {

/// The version of the compiler: `0.1.0`.
std::string_view release();

}  // namespace loopsmith
