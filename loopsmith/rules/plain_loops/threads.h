// SPDX-License-Identifier: Apache-2.0
// Outer loops on several threads.
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Runs the outermost loops of a nest that dependences allow, and that have enough to do, on
/// several threads.
void parallelize(Steps& steps, LoopRV loop, const CpuModel& machine);

}  // namespace loopsmith::plain_loops
