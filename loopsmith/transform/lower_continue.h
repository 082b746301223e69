// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces each `continue` of a loop that is bound to threads by a condition on what follows:
/// there is no such loop in a kernel, and a `continue` would be about another one around it.
///
///     for t in threadIdx.x(64):        for t in threadIdx.x(64):
///       if F[t] == 1:                    if F[t] == 1:
///         A[t] = 0                 =>      A[t] = 0
///         continue                       else:
///       A[t] = B[t]                        A[t] = B[t]
Ptr<PrimFunc> lower_continue(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
