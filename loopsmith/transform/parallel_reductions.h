// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives a parallel loop that is bound to a reduction partial results of its own, which are
/// combined as a tree, each group of eight in its order:
///
///     for k in T.parallel(n):            for p in T.parallel(64):
///       C[0] += A[k]              =>       C_rf[p] = sum of A over part p of n
///                                        for g, p in T.grid(8, 8): C_rf_1[g] += C_rf[g * 8 + p]
///                                        for g in 8: C[0] += C_rf_1[g]
///
/// A loop over the threads of a block does so with partial results in shared memory, one a thread.
/// How many there are depends on the program alone, so results do not depend on the number of
/// threads. Throws a UserError for a reduction that has no such form, unless it is a sum of
/// integers, which is made atomic later.
Ptr<PrimFunc> parallel_reductions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
