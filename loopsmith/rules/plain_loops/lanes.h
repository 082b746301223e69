// SPDX-License-Identifier: Apache-2.0
// Innermost loops in vectors.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Runs the innermost loops of a nest in vectors where the model sees a gain and dependences allow
/// it; where they allow it for some statements alone, these get a loop of their own.
void vectorize_innermost(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
