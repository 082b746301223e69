// SPDX-License-Identifier: Apache-2.0
// Who accesses elements before they are written, and must not find them written already.
#pragma once
#include <span>

#include "loopsmith/schedule/queries/scope_accesses.h"

namespace loopsmith {

/// True when what is at `place` may access an element of `buffer` in an earlier iteration of one of
/// `loops`, which are around both, than the block `writer` writes it.
bool accesses_earlier(const Schedule& schedule, const Place& place, BlockRV writer,
                      const Buffer* buffer, std::span<const LoopRV> loops);

}  // namespace loopsmith
