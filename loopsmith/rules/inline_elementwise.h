// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Inlines blocks that compute each element of a local buffer from its index alone, where computing
/// it again at its uses costs less than memory does.
///
/// Filters whose results no core's cache holds are weighed by `vector_cost`, with and without.
///
/// B[i] = A[i] + 1;  C[i] = B[i] * 2    =>    C[i] = (A[i] + 1) * 2
void inline_elementwise(Schedule& schedule, const CpuModel& machine);

}  // namespace loopsmith
