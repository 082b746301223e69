// SPDX-License-Identifier: Apache-2.0
// Who touches elements before they are written, and must not find them written already.
#pragma once
#include <span>

#include "loopsmith/schedule/scope_uses.h"

namespace loopsmith {

/// True when a write is the only one of memory of its scope: nothing is there before.
bool is_born(const Schedule& schedule, const BufferUse& write, const ScopeUses& uses);

/// True when what is at `place` may touch an element of `buffer` in an earlier iteration of one of
/// `loops`, which are around both, than the block `writer` writes it.
bool touches_before(const Schedule& schedule, const Place& place, BlockRV writer,
                    const Buffer* buffer, std::span<const LoopRV> loops);

/// The same of all loops around both but not around `apart`: one of them goes there, and what is
/// touched before may then be touched after. Nobody touches what `is_born` before.
bool touches_before(const Schedule& schedule, const Place& place, BlockRV writer,
                    const Buffer* buffer, const Place& apart, const ScopeUses& uses);

}  // namespace loopsmith
