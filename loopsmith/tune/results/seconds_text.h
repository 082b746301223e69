// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace loopsmith::tune {

/// A time as people write it: `1.25 ms`.
std::string seconds_text(double seconds);

}  // namespace loopsmith::tune
