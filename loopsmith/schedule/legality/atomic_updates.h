// SPDX-License-Identifier: Apache-2.0
// Atomic read-modify-write updates of integers by concurrent iterations: sums, extremes, bits.
#pragma once
#include <string_view>

#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// The annotation of a parallel loop whose iterations update what they have in common atomically.
inline constexpr std::string_view atomic_updates_key = "atomic_updates";

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
