// SPDX-License-Identifier: Apache-2.0
// What a loop does in a part of its iterations.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The reductions inside a loop with constant bounds whose init never runs in these iterations: an
/// earlier part has started them.
std::vector<const Block*> blocks_without_start(const Schedule& schedule, LoopRV loop,
                                               std::int64_t first_iteration,
                                               std::int64_t iterations);

/// The loop's body for one part: blocks named with `suffix`, and without the inits that never run
/// there, so that they read what they update.
Stmt body_of_part(Schedule& schedule, std::uint32_t function, const Stmt& body,
                  std::span<const Block* const> without_start, const std::string& suffix,
                  const BufferOfPointer& buffers);

}  // namespace loopsmith
