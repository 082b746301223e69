// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

struct NormalizedNest {
  Stmt nest;
  std::vector<std::string> new_blocks;
  Schedule::Renewed renewed;
};

/// The nest of a loop with loops that count from 0 by 1, and with all that is done in blocks.
///
/// Theorem. A condition that neither has effects nor reads memory is the same at each place under
/// it, so `if c: a; b` is `if c: a` and `if c: b`, and a loop may come between. The branches
/// of one such `if` never run both, so equal loops in them may be one. What a block is around runs
/// when the block does.
NormalizedNest normalized_nest(Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
