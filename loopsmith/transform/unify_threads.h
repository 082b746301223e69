// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes one launch of each nest of loops that are bound to blocks and threads: a loop for each
/// axis, as long as the longest loop over it, and inside what each thread does.
///
///     for b in blockIdx.x(4):             for b in blockIdx.x(4):
///       allocate S[32] in shared            allocate S[32] in shared
///       for t in threadIdx.x(32):           for t in threadIdx.x(32):
///         S[t] = A[b, t]              =>      S[t] = A[b, t]
///       for u in threadIdx.x(16):             if t < 16:
///         S[u] = S[u] + S[u + 16]               S[t] = S[t] + S[t + 16]
///       B[b] = S[0]                           if t == 0:
///                                               B[b] = S[0]
///
/// A statement beside the loops over some axes is run by the first thread of these axes, unless it
/// fills memory of which each thread has its own. Between the statements threads have to wait for
/// each other: see insert_barriers.h. Memory that a block allocates is shared by its threads; what
/// a thread allocates is its own.
Ptr<PrimFunc> unify_threads(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
