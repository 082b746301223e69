// SPDX-License-Identifier: Apache-2.0
// Updates that processors do as one operation: sums, and extremes and bits of integers.
#pragma once
#include <optional>

#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// An update for which processors have an atomic instruction, or compare and exchange.
struct AtomicUpdate {
  Op op;         ///< `atomic_add`, ...
  Expr operand;  ///< What is added.

  /// The order of the updates, another one each time, is seen in the result: only a program that
  /// asks for atomic updates gets them.
  bool rounds() const { return operand.dtype().is_float(); }
};

/// What `store` does to the element that it stores to, if that is such an update.
std::optional<AtomicUpdate> atomic_update_of(const BufferStore& store);
/// The same in iterations of a loop: one that rounds only where the loop asks for atomic updates.
std::optional<AtomicUpdate> atomic_update_in(const For& loop, const BufferStore& store);

/// True when all that stores to the buffer in the loop, but for inits of blocks, are such updates,
/// of memory that threads share.
bool updates_are_atomic(const For& loop, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
