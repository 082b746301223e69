// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Reductions along rows of memory: rows on several threads, each in vectors of partial results.
///
///     for i, k in n, m:           for i in n:  (parallel)
///       S[i] += A[i, k]     =>      for l in 32: (vectors)  P[l] = 0
///                                   for ko in m / 32:
///                                     for l in 32: (vectors)  P[l] += A[i, ko * 32 + l]
///                                   S[i] = the sum of P
///
/// Rows whose last steps would be masked are taken where these are few.
bool schedule_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
