// SPDX-License-Identifier: Apache-2.0
// Who touches elements before they are written, and must not find them written already.
#pragma once
#include <span>

#include "loopsmith/schedule/queries/scope_uses.h"

namespace loopsmith {

/// True when what is at `place` may touch an element of `buffer` in an earlier iteration of one of
/// `loops`, which are around both, than the block `writer` writes it.
bool touches_before(const Schedule& schedule, const Place& place, BlockRV writer,
                    const Buffer* buffer, std::span<const LoopRV> loops);

}  // namespace loopsmith
