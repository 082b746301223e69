// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The schedule of a function without one, for the processor that `machine` describes: cheap
/// intermediate values are computed where they are used, outer loops are parallel, inner ones
/// vectorized. Its steps are those of `rules.h`, and may be seen, replayed and continued.
///
/// What no rule takes stays as it is written, and so does a function that is marked
/// `tir.is_scheduled`. With `leaves_holes`, numbers are samples that a search may decide anew.
Schedule default_schedule(const Ptr<PrimFunc>& func, const CpuModel& machine,
                          bool leaves_holes = false);

/// What `build` makes of a function without a schedule: what the default schedule makes of it,
/// where arguments do not overlap what is written; else as it is written. Reductions may be
/// combined in another order.
Ptr<PrimFunc> with_default_schedule(const Ptr<PrimFunc>& func, const CpuModel& machine);

}  // namespace loopsmith
