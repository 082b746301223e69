// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// True for a reduction whose results, not its steps, belong into the lanes of vectors: stores are
/// contiguous along an axis, and loads are too, or steps would not fill a vector.
bool belongs_to_columns(const Nest& nest, const CpuModel& machine);

/// A reduction across rows of memory: vectors of results, which stay in registers.
///
///     for j, k in m, n:             for jo in m / 32:  (parallel)
///       S[j] += A[k, j]     =>        for j in 32: (4 vectors)  P[j] = 0
///                                     for k in n:
///                                       for j in 32: (4 vectors)  P[j] += A[k, jo * 32 + j]
///                                     for j in 32: (4 vectors)  S[jo * 32 + j] = P[j]
///
/// Not where several rows of results share what they load: those are products.
bool schedule_columns(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
