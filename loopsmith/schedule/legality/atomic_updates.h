// SPDX-License-Identifier: Apache-2.0
// Integers that iterations which run at once update together: sums, extremes, bits.
#pragma once
#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// An update of an integer that machines do in one step.
struct AtomicUpdate {
  Op op;         ///< `atomic_add`, ...
  Expr operand;  ///< What is added.
};

/// What `store` does to the element that it stores to, if that is such an update.
std::optional<AtomicUpdate> atomic_update_of(const BufferStore& store);

/// True when all that iterations of a loop accumulate together are such updates, of memory that
/// they share: then they may run at once without partial results.
bool updates_atomically(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
