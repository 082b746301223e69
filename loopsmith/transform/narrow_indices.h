// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Computes in 32 bits what is computed in 64 but proved to fit: loop variables, indices, and
/// comparisons of integers, with all that they are made of.
///
///     for i: int64 in 100:           for i: int32 in 100:
///       A[i*int64(8)] = 0      =>      A[i*8] = 0
///
/// What depends on a size without a bound stays as it is.
Ptr<PrimFunc> narrow_indices(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
