// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Moves each allocation to the innermost loop body that is around all its uses.
///
///     allocate T[n, m]                     for i:
///       for i:                               allocate T[n, m]
///         for j: T[i, j] = A[i, j]     =>      for j: T[i, j] = A[i, j]
///         for j: B[i, j] = T[i, j]             for j: B[i, j] = T[i, j]
///
/// Not into a loop of which one iteration may read what an earlier one wrote. Memory that nothing
/// uses is dropped.
Ptr<PrimFunc> plan_allocations(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
