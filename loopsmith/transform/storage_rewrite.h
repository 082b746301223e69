// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Lets an allocation use the memory of another that is not needed any more.
///
///     allocate A[100], B[100]            allocate A[100]
///     A = ..., C = A, B = ..., D = B  =>  A = ..., C = A, A = ..., D = A
///
/// Of allocations right around one sequence of statements, with the same type, scope and extents of
/// about the same size. Small ones are left alone: they become registers.
Ptr<PrimFunc> storage_rewrite(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
