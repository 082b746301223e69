// SPDX-License-Identifier: Apache-2.0
// For tests only: what random programs are run on.
#pragma once
#include <cstdint>
#include <vector>

#include "loopsmith/judge/judge.h"

namespace loopsmith::schedule_testing {

/// Random arguments for a function in which each open size is `size`. Signed integers are small, so
/// that they do not overflow.
std::vector<judge::JudgeArgument> random_arguments(const PrimFunc& func, std::int64_t size,
                                                   std::uint64_t seed);

}  // namespace loopsmith::schedule_testing
