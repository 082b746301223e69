// SPDX-License-Identifier: Apache-2.0
// Rings that hold of a buffer what is still read, as the law of legality finds them.
#pragma once
#include <optional>

#include "loopsmith/schedule/primitives/rolling_buffer.h"

namespace loopsmith {

inline constexpr Condition storage_is_outside{
    "storage_is_outside", "loop {} is not around block {} and the loop in which it is computed",
    "compute_at the block in a loop further inside first"};
inline constexpr Condition window_slides{
    "window_slides", "no loop inside of {} moves a window of known size over {}",
    "compute_at the block in a loop that moves what its consumers read"};
/// A ring for a buffer that the block writes, while an iteration of the loop `storage` runs, or the
/// scope. What was computed before is left out, and dimensions are folded, as far as the law lets
/// both steps.
Planned<RollingBufferPlan> plan_ring(const Schedule& schedule, BlockRV block,
                                     std::optional<LoopRV> storage, const Ptr<Buffer>& buffer);

/// Asks the law of both steps of a ring: what is left out, and where the rest lies.
std::optional<Refusal> refuse_ring(const Schedule& schedule, const Preservation& asked,
                                   const RollingBufferPlan& ring);

}  // namespace loopsmith
