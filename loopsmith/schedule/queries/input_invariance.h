// SPDX-License-Identifier: Apache-2.0
// Whether what a block reads is the same at another place.
#pragma once
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

/// True when a write stores the same each time that the loop `outermost` around it runs it again:
/// it is that of a block, and so is what the block reads and the loop computes.
bool is_idempotent(const Schedule& schedule, const BufferAccess& write, NodeId outermost,
                   const ScopeAccesses& uses);

}  // namespace loopsmith
