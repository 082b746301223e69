// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes the threads of each launch wait where one uses what another has used before it, and one of
/// the two writes:
///
///     for t in threadIdx.x(32):           for t in threadIdx.x(32):
///       S[t] = A[t]                =>       S[t] = A[t]
///       B[t] = S[31 - t]                    tvm_storage_sync("shared")
///                                           B[t] = S[31 - t]
///
/// A barrier stands where the dependence between threads cannot be disproved, as late as possible,
/// and never in a place that some threads do not reach: conditions that differ from thread to
/// thread move inside. Where that cannot be done the program is refused. Where only threads of one
/// warp conflict, of `warp_size` threads along x, these alone wait: `tvm_storage_sync("warp")`.
Ptr<PrimFunc> insert_barriers(const Ptr<PrimFunc>& func, int warp_size = 1);

}  // namespace loopsmith
