// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace loopsmith {

/// What compiled code counts at a statement that is timed. Written by its threads while they run.
struct LoopCounters {
  std::uint64_t runs = 0;
  std::uint64_t ticks = 0;  ///< Of all threads together.
};

/// How many ticks of the clock that the code reads make a second: measured, at the first call, in
/// 20 ms.
double ticks_per_second();

}  // namespace loopsmith
