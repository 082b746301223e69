// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// A nest without a reduction: the axis along which stores are contiguous in lanes, the outer ones
/// on several threads.
///
///     for i, j in n, m:           for i in n:  (parallel)
///       B[i, j] = f(A[i, j])  =>    for jo in m / 8:
///                                     for ji in 8:  (vectorized)   B[i, jo * 8 + ji] = ...
///
/// Loops through which all accesses walk in step, from one end of memory to the other, are fused
/// first, so that rows need not be whole vectors.
bool schedule_elementwise(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith
