// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// A reduction to one element: partial results for a fixed number of parts, on several threads,
/// each in vectors, and their combination. The number follows from the shape alone, so that results
/// do not depend on threads.
///
///     for k in n: S[0] += A[k]    =>    for p in 64: (parallel)   P[p] = the sum of part p, in
///     vectors
///                                       for p in 64:              S[0] += P[p]
bool schedule_whole_reduction(Schedule& schedule, const Subject& subject,
                              const RuleContext& context);

}  // namespace loopsmith
