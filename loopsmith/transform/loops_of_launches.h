// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes a loop of each statement that launches threads: of these there is one form from here on.
///
///     bx = T.launch_thread("blockIdx.x", 4)      =>      for bx in blockIdx.x(4):
///     A[bx] = 0                                            A[bx] = 0
Ptr<PrimFunc> loops_of_launches(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
