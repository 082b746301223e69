// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives a parallel loop that drives a reduction partial results of its own, which are combined in
/// their order:
///
///     for k in T.parallel(n):            for p in T.parallel(64):
///       C[0] += A[k]              =>       C_rf[p] = sum of A over part p of n
///                                        for p in 64: C[0] += C_rf[p]
///
/// How many there are depends on the program alone, so results do not depend on the number of
/// threads. Throws a UserError for a reduction that has no such form.
Ptr<PrimFunc> parallel_reductions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
