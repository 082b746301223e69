// SPDX-License-Identifier: Apache-2.0
// Stores that all iterations of a loop do alike.
#pragma once
#include <span>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when all iterations of `loop` store the same into the same elements of `buffer`, at the
/// same time if they go in step: then lanes need no memory of their own for it, and threads may
/// share what they all fill. `own` is memory that iterations store to alike, each of which reads
/// of it only what it stored itself; threads wait before and after a store that reads such memory
/// which they share.
///
/// Theorem. Where stores to memory of which each iteration reads only its own are alike in all
/// iterations, what they read there is, too. Proof: by induction over the statements of an
/// iteration, each read finds the last store before it, which stored the same in all iterations.
bool stores_alike(const For& loop, const Ptr<Buffer>& buffer,
                  std::span<const Ptr<Buffer>> own = {});

}  // namespace loopsmith
