// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Updates integers atomically where iterations of a parallel loop, or threads, may update the
/// same:
///
///     for i in T.parallel(n):              for i in T.parallel(n):
///       H[X[i]] = H[X[i]] + 1        =>      T.atomic_add(T.address_of(H[X[i]]), 1)
///
/// So are minima, maxima, and, or and xor of bits. Other reductions have had partial results
/// before, or are of one iteration.
Ptr<PrimFunc> make_updates_atomic(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
