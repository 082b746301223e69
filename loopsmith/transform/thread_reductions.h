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
/// own, loops of one iteration reduce nothing. Results in memory of threads are stored by all of
/// them. Reductions of another form are left to parallel_reductions.h.
///
/// Threads along x that are warps of `warp_size`, or even parts of one, exchange their results
/// without memory (warp_reduction.h); several warps share what each of them has, and each combines
/// that. `warp_size` 1: there are no warps.
Ptr<PrimFunc> thread_reductions(const Ptr<PrimFunc>& func, int warp_size = 1);

}  // namespace loopsmith
