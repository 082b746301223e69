// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

inline constexpr Condition reductions_have_elements{
    "reductions_have_elements",
    "loop {} may have no iteration, where block {} gives its init; in their new form, the loops "
    "would not say so any more",
    "decompose_reduction first, or give the loop a constant extent"};

/// Refuses where one of the loops is that of a reduction which may have no elements, and gives its
/// init then: which results there are is read from the loops, as long as each is of one kind.
std::optional<Refusal> refuse_empty_reductions(const Schedule& schedule,
                                               std::span<const LoopRV> loops);

}  // namespace loopsmith
