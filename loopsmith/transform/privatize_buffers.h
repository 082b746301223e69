// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives iterations that run concurrently memory each, where they would share what each of them has
/// to have for itself:
///
///     allocate T[9]                         for i in T.parallel(8):
///       for i in T.parallel(8):               allocate T_own[9]
///         T[0] = A[i]                  =>       T_own[0] = A[i]
///         B[i] = T[0] + T[0]                    B[i] = T_own[0] + T_own[0]
///       for i in T.parallel(8): ...         for i in T.parallel(8): ...
///
/// Each iteration reads there only what it wrote, and no statement reads it after the loop. Where
/// that is not so, and iterations are certain to conflict, the program is refused; where it is not
/// known, lanes go one by one, and a parallel loop as written is believed.
Ptr<PrimFunc> privatize_buffers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
