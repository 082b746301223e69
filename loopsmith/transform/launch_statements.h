// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Lets one thread run the statements that stand beside kernels, outside of loops: the host does
/// not see the memory that they store to.
///
///     B[0] = 0                          for once in threadIdx.x(1):
///     for i in threadIdx.x(99):   =>      B[0] = 0
///       B[i + 1] = A[i]                 for i in threadIdx.x(99):
///                                         B[i + 1] = A[i]
///
/// Loops without threads stay: they are for a schedule to bind. A function without kernels that is
/// not for a device stays as it is.
Ptr<PrimFunc> launch_statements(const Ptr<PrimFunc>& func, bool is_for_device = false);

}  // namespace loopsmith
