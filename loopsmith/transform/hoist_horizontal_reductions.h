// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Sums up lane by lane in a loop, and adds up the lanes once after it.
///
///     for k:                                            acc = broadcast(-0.0, 16)
///       C[i] = C[i] + vector_reduce_add(v(k))    =>     for k: acc = acc + v(k)
///                                                       C[i] = C[i] + vector_reduce_add(acc)
///
/// The last line is done where the loop runs. The same for products, minima and maxima. Out of
/// every loop in which the element stays the same and is not accessed otherwise; where it moves
/// with unrolled loops inside of that loop alone, as a tile does, each element has lanes of its
/// own:
///
///     for k:                                            acc = broadcast(-0.0, 64)
///       for ii in T.unroll(4):                 =>       for k: for ii in T.unroll(4): acc[ii] += v
///         C[i + ii] += vector_reduce_add(v(k, ii))      for ii in T.unroll(4): C[i + ii] += ...
///
/// The order of a sum changes no more than vectorization, which the schedule asked for, has changed
/// it.
Ptr<PrimFunc> hoist_horizontal_reductions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
