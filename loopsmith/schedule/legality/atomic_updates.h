// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// True when every accumulation across iterations of a loop is an atomic update of memory that they
/// share: then the iterations may run concurrently without partial results. `is_requested`: the
/// loop is to ask for such updates.
bool updates_atomically(const Schedule& schedule, LoopRV loop, bool is_requested = false);

}  // namespace loopsmith
