// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Adds integers atomically where iterations of a parallel loop, or threads, may add to one:
///
///     for i in T.parallel(n):              for i in T.parallel(n):
///       H[X[i]] = H[X[i]] + 1        =>      T.atomic_add(T.address_of(H[X[i]]), 1)
///
/// Other sums have had partial results before, or are of one iteration.
Ptr<PrimFunc> make_sums_atomic(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
