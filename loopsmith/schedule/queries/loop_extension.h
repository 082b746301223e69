// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Additional iterations at the end of a loop, in which its present body is predicated off.
struct LoopExtension {
  LoopRV loop;
  std::int64_t iterations;
};

/// Lets a loop run longer. Cannot fail.
void extend(Schedule& schedule, const LoopExtension& extension);

}  // namespace loopsmith
