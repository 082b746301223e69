// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Nests that depend on each other row by row, such as those of a softmax or of a norm, get one
/// loop over rows, which is parallel. Reductions run in lanes; so do the other nests. One that
/// computes the row of the reduction after it shares the loop over vectors, too.
///
///     for i, j: E[i, j] = exp(A[i, j])        for i:  (parallel)
///     for i, k: S[i] += E[i, k]                 P[0:8] = 0
///     for i, j: B[i, j] = E[i, j] / S[i]  =>    for jo:
///                                                 E[i, jo*8 : jo*8+8] = exp(A[..])
///                                                 P[0:8] += E[i, jo*8 : jo*8+8]
///                                               S[i] = the sum of P
///                                               for jo: B[i, jo*8 : jo*8+8] = E[..] / S[i]
bool schedule_row_groups(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
