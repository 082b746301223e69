// SPDX-License-Identifier: Apache-2.0
// Parallel reductions: each part of a loop accumulates into its own partial results.
#pragma once
#include <optional>
#include <span>

#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// Refuses where a reduction over a loop may read its results while they are partial.
std::optional<Refusal> refuse_reads_of_results(const Schedule& schedule, LoopRV loop);

/// True when a reduction anywhere in the loop may run in threads with partial results that are
/// combined after it. The buffers `own` are private to each iteration.
bool accumulator_is_private(const Schedule& schedule, LoopRV loop,
                            std::span<const Ptr<Buffer>> own);

}  // namespace loopsmith
