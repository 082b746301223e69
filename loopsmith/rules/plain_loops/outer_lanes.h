// SPDX-License-Identifier: Apache-2.0
// Loops around others in vectors: each lane runs the loops inside.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Runs loops around others in vectors where that is better, by the model, than the innermost ones:
/// where iterations sum up, or find by steps, a value of their own, as scalars that are declared
/// inside. Each lane keeps the order of the loops inside, so that no sum is regrouped.
void vectorize_outer(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
