// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"

namespace loopsmith {

/// Schedules a function without a schedule, for the processor that `machine` describes: cheap
/// intermediate values are computed where they are used, neighbours that meet row by row share
/// their outer loops, outer loops are parallel, inner ones vectorised, reductions tiled.
///
/// Only what is shown to be independent is reordered; everything else stays as it is written, and
/// a function marked `tir.is_scheduled` stays whole. Reductions may be combined in another order.
/// Where arguments may overlap, what is written runs when they do.
Ptr<PrimFunc> default_schedule(const Ptr<PrimFunc>& func, const CpuModel& machine);

}  // namespace loopsmith
