// SPDX-License-Identifier: Apache-2.0
// Anti-dependences: accesses that must run before a write to the same element.
#pragma once
#include <span>

#include "loopsmith/schedule/queries/scope_accesses.h"

namespace loopsmith {

/// True when the statement at `place` may access an element of `buffer` in an earlier iteration of
/// one of `loops`, which enclose both, than the block `writer` writes it.
bool accesses_earlier(const Schedule& schedule, const Place& place, BlockRV writer,
                      const Buffer* buffer, std::span<const LoopRV> loops);

}  // namespace loopsmith
