// SPDX-License-Identifier: Apache-2.0
// Whether the inputs of a block are invariant.
#pragma once
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

/// True when a write is idempotent: each iteration of the loop `outermost` around it that repeats
/// it stores the same values. It is the write of a block whose inputs are invariant in that loop.
bool is_idempotent(const Schedule& schedule, const BufferAccess& write, NodeId outermost,
                   const ScopeAccesses& uses);

}  // namespace loopsmith
