// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The body of `loop`, all of its iterations concurrently, each in a lane of its own; `lanes` is
/// its extent. What has no form for vectors is done by a serial loop over the lanes; null when that
/// is the whole body.
///
///     for i in vectorized(8):             C[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] * broadcast(x, 8)
///       C[i] = A[i] * x             =>    with mask ramp(0, 1, 8) < broadcast(n, 8)
///       if i < n: D[i] = E[i]             D[ramp(0, 1, 8)] = E[ramp(0, 1, 8)]
///
/// Where all lanes add up, multiply or compare into one element, they are reduced first. `known`
/// says what is known of sizes at the place of the loop.
Stmt widen(const For& loop, int lanes, Analyzer& known);

/// `body`, or a serial loop with the bounds of `loop` over it: one iteration after another.
Stmt serial_loop(const For& loop, const Stmt& body);

}  // namespace loopsmith
