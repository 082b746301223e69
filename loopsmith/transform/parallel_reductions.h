// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives iterations that run concurrently and accumulate together, as is recorded of their loop,
/// partial results of their own, which are combined after it. In a parallel loop, a part of the
/// iterations has them:
///
///     for i in T.parallel(640):       for part in T.parallel(64):
///       S[0] = S[0] + A[i]        =>    s[part] = 0
///                                       for k in range(10):
///                                         s[part] = s[part] + A[part * 10 + k]
///                                     for part in range(64):
///                                       S[0] = S[0] + s[part]
///
/// The number of parts depends on the program alone; many are combined in groups first. Over the
/// threads of a block, each has its own in shared memory. What stays recorded is updated atomically
/// later: integers whose indices are read from memory where copies would cost more than the
/// updates, or where the loop asks for it.
Ptr<PrimFunc> parallel_reductions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
