// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/driver/build.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The default schedule of a function for a target, as the engine has it: what `tir::Schedule` and
/// Python wrap. Throws a UserError for a function that is not well-formed.
Schedule scheduled_by_rule(const Ptr<PrimFunc>& func, const Target& target, bool leaves_holes,
                           const BuildOptions& options);

}  // namespace loopsmith
