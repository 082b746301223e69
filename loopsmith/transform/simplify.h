// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Simplifies each expression by what is known where it stands: the ranges of the loops and the
/// conditions around it. Branches that are never taken, loops of one iteration or none, and names
/// for constants go away.
///
///     for i in 4:                          for i in 4:
///       for u in 1:                  =>      A[i] = 1
///         if i < 5: A[i + u] = 1
Ptr<PrimFunc> simplify(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
