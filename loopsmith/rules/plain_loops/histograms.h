// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/plain_loops/machine.h"
#include "loopsmith/rules/plain_loops/steps.h"

namespace loopsmith::plain_loops {

/// True when threads would count into elements that they share, one by one: the elements are too
/// many for the copies that a parallel loop makes by itself, and an atomic update takes longer than
/// a serial one.
bool would_update_atomically(const Schedule& schedule, LoopRV loop);

/// How many iterations of such a loop there are at least so that a copy for each core costs less
/// than it gains; 0 where the loop updates elements in another way, or copies are too large.
std::int64_t least_iterations_for_copies(const Schedule& schedule, LoopRV loop,
                                         const Machine& machine);

/// Cuts the loop into a part for each core, which counts into copies of its own, and adds these up:
///
///     for i in n:             for p in T.parallel(2):
///       H[A[i]] += 1    =>      for i in n / 2: H_copies[p, A[p * n / 2 + i]] += 1
///                             for b in T.parallel(bins / 64): H[b] += H_copies[0, b] + ...
///
/// The loop stays as it is, and the answer is false, where a step is refused.
bool count_in_copies(Steps& steps, LoopRV loop, const Machine& machine);

}  // namespace loopsmith::plain_loops
