// SPDX-License-Identifier: Apache-2.0
// Sums of integers to which iterations that run at once add.
#pragma once
#include "loopsmith/schedule/legality.h"

namespace loopsmith {

/// What `store` adds to the integer that it stores to, where machines do that in one step; null for
/// other stores.
Expr atomically_added(const BufferStore& store);

/// True when all that iterations of a loop accumulate together are such sums, in memory that they
/// share: then they may run at once without partial results.
bool adds_atomically(const Schedule& schedule, LoopRV loop);

/// True when a reduction over a loop may run so: with partial results, or as such sums.
bool may_reduce_at_once(const Schedule& schedule, LoopRV loop, AtOnce how);

}  // namespace loopsmith
