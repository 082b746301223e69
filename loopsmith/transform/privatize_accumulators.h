// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives parts of a parallel loop in which iterations accumulate together results of their own:
///
///     for i in T.parallel(640):       for part in T.parallel(64):
///       S[0] = S[0] + A[i]        =>    s[part] = 0
///                                       for k in range(10):
///                                         s[part] = s[part] + A[part * 10 + k]
///                                     for part in range(64):
///                                       S[0] = S[0] + s[part]
///
/// The number of parts depends on the program alone; many are combined in groups first. Integers
/// whose indices are read from memory stay as they are where copies would cost more than the
/// updates, or where the loop asks for it: they are updated atomically.
Ptr<PrimFunc> privatize_accumulators(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
