// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Cuts each serial loop where conditions inside it become true for good, so that the main part
/// runs without them.
///
///     for io in ceildiv(n, 8):                 for io in n // 8:
///       for ii in 8:                             for ii in 8: A[io*8 + ii] = 0
///         if io*8 + ii < n:              =>    for io in [n // 8, ceildiv(n, 8)):
///           A[io*8 + ii] = 0                     for ii in 8:
///                                                  if io*8 + ii < n: A[io*8 + ii] = 0
///
/// A parallel loop stays whole, so that no thread waits for the rest: its body gets one test for
/// both parts. Conditions are comparisons that are linear in the loop variable. Large bodies are
/// left whole, unless `pragma_loop_partition_hint` is around the loop, and so is a loop of which
/// the lanes inside would differ in half of the iterations or more. A statement with that hint at
/// 0 around it cuts no loop. An unrolled loop with that hint is not cut, but gets one test for all
/// of its iterations, and runs without the conditions that hold then.
Ptr<PrimFunc> loop_partition(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
