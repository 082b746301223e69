// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/results/seconds_text.h"

#include <fmt/format.h>

#include <utility>

namespace loopsmith::tune {

std::string seconds_text(double seconds) {
  for (const auto& [unit, scale] : {std::pair{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}}) {
    if (seconds >= scale) return fmt::format("{:.4g} {}", seconds / scale, unit);
  }
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

}  // namespace loopsmith::tune
