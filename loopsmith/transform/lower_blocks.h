// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Leaves loops, conditions and allocations of what blocks are.
///
///     for i, j:                                  for i, j:
///       block b(vi = i*4 + j) where(c):            if c:
///         alloc T                          =>        allocate T, declare T
///         B[vi] = A[vi]                                B[i*4 + j] = A[i*4 + j]
///
/// A block annotation `pragma_x` becomes an attribute of its body, `buffer_dim_align` an annotation
/// of the allocations; the others have done their duty.
Ptr<PrimFunc> lower_blocks(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
