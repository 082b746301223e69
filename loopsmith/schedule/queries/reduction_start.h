// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// True when all reductions inside a loop still start in the instance in which they did, whatever
/// order the loops around them take, once `guard` is one more condition of what the loop runs.
///
/// Lemma. A condition that reads no loop of a reduction lets all instances of a result run, or
/// none. Otherwise let the loops of the reduction go up from bounds that do not depend on each
/// other, and let all conditions hold where each of them is at its minimum: that instance comes
/// first in any order of these loops, with and without the guard.
bool guard_keeps_starts(const Schedule& schedule, LoopRV loop, const Expr& guard);

}  // namespace loopsmith
