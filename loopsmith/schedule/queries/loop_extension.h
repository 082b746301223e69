// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A loop that runs some iterations more; whatever is inside it does not run in these.
struct LoopExtension {
  LoopRV loop;
  std::int64_t iterations;
};

/// Lets a loop run longer. Cannot fail.
void extend(Schedule& schedule, const LoopExtension& extension);

}  // namespace loopsmith
