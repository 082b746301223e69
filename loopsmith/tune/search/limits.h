// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>

namespace loopsmith::tune {

/// What ends a search, and a candidate.
struct Limits {
  std::int64_t trials = 1;
  double seconds = std::numeric_limits<double>::infinity();
  double trial_seconds = 1;
  std::int64_t trial_bytes = 1;
  std::int64_t patience = 1;
  double regret = 0;
  std::int64_t variants = 1;
};

/// Throws a UserError where one of them has no meaning.
void require_limits(const Limits& limits);

}  // namespace loopsmith::tune
