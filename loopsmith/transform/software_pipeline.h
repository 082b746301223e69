// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Lets iterations of loops overlap, as `software_pipeline_stage` and `_order` say: what an
/// iteration does in a later stage is done beside the earlier stages of the next ones.
///
///     for k in n:  (stage [0, 1])          T[0] = A[0]
///       allocate T                         for k in n - 1:
///         T = A[k]                 =>        T[(k + 1) % 2] = A[k + 1]
///         C[k] = f(T)                        C[k] = f(T[k % 2])
///                                          C[n - 1] = f(T[(n - 1) % 2])
///
/// Memory that each iteration has for itself gets as many versions as overlapping iterations need.
/// Refuses an order that a dependence forbids.
///
/// Copies into shared memory in stages that `software_pipeline_async_stages` names are marked, one
/// group in each step; a step begins with waiting for those that it uses (ir/async_copy.h).
///
/// A plain loop around memory with `double_buffer_scope` is pipelined in two stages, what is
/// written there and the rest, where dependences allow it.
Ptr<PrimFunc> software_pipeline(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
