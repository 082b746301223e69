// SPDX-License-Identifier: Apache-2.0
// Loops that are cut where an iteration is special, so that the others need it no longer.
#pragma once
#include <functional>

#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// Cuts a loop at the iteration whose elements all others access, so that `take` succeeds for each
/// part of more than one iteration. The loop stays as it is, and the answer is false, where there
/// is no such value.
///
///     for i in n:                            for i in k:          D[i, j] = min(D[i, j], D[k, j])
///       D[i, j] = min(D[i, j], D[k, j])  =>  for i in k..k + 1:   ...
///                                            for i in k + 1..n:   ...
bool take_parts(Steps& steps, LoopRV loop, const std::function<bool(LoopRV)>& take);

}  // namespace loopsmith::plain_loops
