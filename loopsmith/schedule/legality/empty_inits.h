// SPDX-License-Identifier: Apache-2.0
// A reduction over nothing gives its init before its loops (docs/semantics.md): when, is read off
// from the loops and conditions around the block, which most steps change.
#pragma once
#include <optional>

#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Refuses the step from `before` to `after` where a block that may have nothing to reduce would
/// give its init under other conditions than before, or not at all.
///
/// Theorem. Where a domain is empty, a block has no instances, and its init runs for the iterations
/// of the loops that bind none of its reduction axes, under the conditions that read none of those
/// that do. Let a step change loops, and the conditions that read loops, for whole blocks: not only
/// where these have instances. Then it keeps this, if the init is still given, under the same
/// conditions that read no loop, no condition ceases to read loops of the reduction while it reads
/// others, no loop that stays begins or ends to bind a reduction axis, and domains that read loops
/// of the reduction are the same where these start. It runs no later than before, if as many
/// sequences hold the block inside of the loops of the reduction; what it passes is asked by steps
/// that move statements.
std::optional<Refusal> refuse_changed_inits(const Schedule& before, const Schedule& after);

}  // namespace loopsmith
