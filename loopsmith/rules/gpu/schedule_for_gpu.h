// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The schedule of a function without one, for the blocks and threads of a GPU: a block belongs to
/// the first of the rules for GPUs in rules.h that takes it, loops without blocks to
/// `bind_plain_loops`. Its steps may be seen, replayed and
/// continued. With `leaves_holes`, numbers are samples that a search may decide anew.
///
/// A function that is marked `tir.is_scheduled`, or binds loops to blocks or threads itself, stays
/// as it is written.
Schedule schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& device,
                          bool leaves_holes = false);

/// Binds what the steps so far have not bound to blocks or threads, so that a device runs all of
/// the program: of each block a loop that may run concurrently, else one thread runs it; loops
/// without blocks by `bind_plain_loops`.
void bind_rest_for_gpu(Schedule& schedule, const GpuLimits& device, bool leaves_holes = false);

}  // namespace loopsmith
