// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// A load of a vector whose index is clamped lane by lane, as one of consecutive elements where no
/// lane needs the clamp, which is one test for all lanes; other loads as they are. Where some lanes
/// need it these get the element at the bound, and no lane is loaded by itself:
///
///     A[min(ramp(i, 1, 8), 99)]  =>  A[ramp(i, 1, 8)] if i + 7 <= 99 else
///                                    select(ramp(i, 1, 8) <= 99, A[ramp(i, 1, 8)], A[99])
///
/// where the last load is by the same mask; only `A[99]` where all lanes need it if one does.
Expr without_idle_clamps(const Ptr<BufferLoad>& load);

}  // namespace loopsmith
