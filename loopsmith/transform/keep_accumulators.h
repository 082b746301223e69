// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Keeps an element, or a vector of them, that an innermost loop updates in each iteration in a
/// register while the loop runs.
///
///     for k in n:                          sum = C[i]
///       C[i] = C[i] + A[i, k]      =>      for k in n:  sum = sum + A[i, k]
///                                          C[i] = sum
///
/// Only where nothing else in the loop accesses the element: by other buffers, which are apart
/// where the function allocates them or where `tir.noalias` says so, or by other indices, as
/// dependence analysis shows (`A[i, j] -= A[i, k] * A[j, k]` for k below j), or as their difference
/// does, of those that an unrolled loop has beside each other. Where `tir.noalias` says of the
/// whole function that its arguments are apart, code generation sees the first by itself.
Ptr<PrimFunc> keep_accumulators(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
