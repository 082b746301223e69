// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Reductions along rows of memory, and what meets them row by row, as softmax and norms do: one
/// nest of loops over rows, on several threads, in which each row is reduced in vectors of partial
/// results and each elementwise part is vectorized.
///
///     for i, k: m[i] = max(m[i], A[i, k])           for i in n:  (parallel)
///     for i, k: s[i] += exp(A[i, k] - m[i])    =>     the row's maximum, in vectors
///     for i, j: B[i, j] = A[i, j] / s[i]              the row's sum, in vectors
///                                                     for j: (vectors)  B[i, j] = A[i, j] / s[i]
bool schedule_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
