// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Schedules a function for the blocks and threads of a GPU, by the rules of gpu/rules.h: the first
/// one that takes a nest does. All that is done are steps of the schedule.
Schedule schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& limits);

/// The function by that schedule, if it is one without a schedule: it has a root block, no bound
/// loops, and does not say `tir.is_scheduled`. What stands beside its kernels is run by one thread.
Ptr<PrimFunc> default_schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& limits);

}  // namespace loopsmith
