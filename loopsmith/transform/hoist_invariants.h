// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Moves conditions and names that are the same in each iteration out of the loop.
///
///     for i:                           if x < n:
///       if x < n and i < m:      =>      for i:
///         A[i] = 0                         if i < m: A[i] = 0
///
/// Only what stands around all of the body, has no effect and reads no memory.
Ptr<PrimFunc> hoist_invariants(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
