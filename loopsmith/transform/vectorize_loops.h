// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Does all iterations of each loop marked `vectorized` at once; see `widen`.
///
/// A loop with more iterations than a few vectors hold, or with a symbolic extent, is cut into a
/// serial loop over vectors of `vector_bits` and a rest under a mask:
///
///     for i in vectorized(n):         for c in n // 16:
///       C[i] = A[i]              =>     C[ramp(c*16, 1, 16)] = A[ramp(c*16, 1, 16)]
///                                     rest under ramp(n // 16 * 16, 1, 16) < broadcast(n, 16)
///
/// One of some vectors whose iterations are no power of two is cut into parts that are: 48 into 32
/// and 16.
///
/// A loop of which nothing has a form for vectors becomes serial.
Ptr<PrimFunc> vectorize_loops(const Ptr<PrimFunc>& func, int vector_bits);

}  // namespace loopsmith
