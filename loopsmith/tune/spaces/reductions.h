// SPDX-License-Identifier: Apache-2.0
// The generated space of a block that reduces.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Computes a reduction by instructions for dot products, tiles it, keeps partial results for the
/// lanes of vectors, or reduces chunks in parallel: inside of `shared` loops that it has with its
/// consumer.
void schedule_reduction(Schedule& schedule, BlockRV block, std::size_t shared);

}  // namespace loopsmith::tune
