// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Runs the iterations of loops that are bound to virtual threads side by side, each statement for
/// all of them before the next. Memory inside the loop gets a dimension for the threads.
///
///     for v in 2:  (vthread.x)              allocate T[2]
///       allocate T                          for k in 8:
///         for k in 8:               =>        T[0] = A[k]
///           T = A[v*8 + k]                    T[1] = A[8 + k]
///           C[v*8 + k] = T * 2                C[k] = T[0] * 2
///                                             C[8 + k] = T[1] * 2
///
/// Where it is not proved that threads do not depend on each other, they run one after another.
Ptr<PrimFunc> inject_virtual_threads(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
