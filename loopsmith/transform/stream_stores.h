// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Writes what is stored under `pragma_nontemporal` past the caches. Loops over vectors start these
/// where memory is aligned, of `vector_bits` at most: the first and the last one overlap their
/// neighbours, whose elements they compute once more.
///
///     for o in ceildiv(n, 16):                for o in ceildiv(n + past, 16):
///       for l in 16: (vectorized)               begin = max(min(o * 16 - past, n - 16), 0)
///         if o * 16 + l < n:              =>    for l in 16: (vectorized)
///           B[o * 16 + l] = f(o * 16 + l)         B[begin + l] = f(begin + l)
///
/// So only where n is 16 or more, and the loop reads nothing that it writes, also by other
/// arguments (`tir.noalias`). Where a loop over vectors is of another form, all stays as it is. The
/// value of the pragma is how many bytes ahead loops ask for what they read; 0: not at all.
Ptr<PrimFunc> stream_stores(const Ptr<PrimFunc>& func, int vector_bits);

}  // namespace loopsmith
