// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Asks for each line of the processor's cache that a prefetched region of a parameter accesses.
///
///     prefetch A[i + 8, 0:64]      =>      for line in 4:
///                                            prefetch(address_of(A[i + 8, line*16]), ...)
///
/// What lies beyond the buffer is left out, and so is what the function allocates itself: it is
/// near already.
Ptr<PrimFunc> lower_prefetch(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
