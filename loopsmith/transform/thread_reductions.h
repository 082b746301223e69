// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Reduces over the threads of a block: each has a partial result, and these are combined in shared
/// memory, half of them with the other half at a time:
///
///     for k0 in 8:                        for k1 in threadIdx.x(32):
///       for k1 in threadIdx.x(32):          own[0] = 0
///         C[0] += A[k0 * 32 + k1]     =>    for k0 in 8: own[0] += A[k0 * 32 + k1]
///                                           all[k1] = own[0]
///                                         for t in threadIdx.x(16): all[t] += all[t + 16]
///                                         ...
///                                         for t in threadIdx.x(1): all[t] += all[t + 1]
///                                         C[0] = all[0]
///
/// `own` is memory of each thread. Loops over other axes around the reduction have results of their
/// own. Reductions of another form are left to parallel_reductions.h.
Ptr<PrimFunc> thread_reductions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
