// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes a loop of each statement that launches threads: of these there is one form from here on.
///
///     bx = T.launch_thread("blockIdx.x", 4)      =>      for bx in blockIdx.x(4):
///     A[bx] = 0                                            A[bx] = 0
///
/// Lanes in which loops over threads stand go one by one: threads wait for each other in between.
Ptr<PrimFunc> loops_of_launches(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
