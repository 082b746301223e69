// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>

namespace loopsmith::testing {

/// How many random cases a test tries: what LOOPSMITH_FUZZ_CASES says, else `default_value`.
inline int fuzz_cases(int default_value) {
  const char* text = std::getenv("LOOPSMITH_FUZZ_CASES");
  return text ? std::atoi(text) : default_value;
}

/// The seed of the first case: what LOOPSMITH_FUZZ_SEED says, else 0.
inline int first_fuzz_seed() {
  const char* text = std::getenv("LOOPSMITH_FUZZ_SEED");
  return text ? std::atoi(text) : 0;
}

}  // namespace loopsmith::testing
