// SPDX-License-Identifier: Apache-2.0
// Bands that add rows up into one row, several rows at a time.
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Lets the innermost bands of a nest that add rows up take several of them in each step, so that
/// the row of results is loaded and stored once for all these:
///
///     for k, j:  y[j] += A[k, j] * x[k]   =>   for k_0, j in vectorized, k_1 in unrolled(4):  y[j]
///     += ...
void join_sums(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
