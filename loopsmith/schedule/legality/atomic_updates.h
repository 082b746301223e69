// SPDX-License-Identifier: Apache-2.0
// Atomic read-modify-write updates of integers by concurrent iterations: sums, extremes, bits.
#pragma once
#include "loopsmith/ir/atomics.h"
#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// An update of an integer for which processors have an atomic instruction.
struct AtomicUpdate {
  Op op;         ///< `atomic_add`, ...
  Expr operand;  ///< What is added.
};

/// What `store` does to the element that it stores to, if that is such an update.
std::optional<AtomicUpdate> atomic_update_of(const BufferStore& store);

/// True when every accumulation across iterations of a loop is such an update of memory that they
/// share: then the iterations may run concurrently without partial results.
bool updates_atomically(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
