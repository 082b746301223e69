// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/te/attachments.h"

namespace loopsmith::te {

/// Stops unless the elements of a stage can be computed where they are read.
void require_inlinable(const ScheduleData& schedule, StageId stage);

/// The schedule with inlined steps of scans in the computes that read them: a step of a scan writes
/// one row at a time, so that TensorIR has no value for an element of it.
ScheduleData with_steps_inlined(const ScheduleData& schedule,
                                const std::vector<Attachment>& attachments);

}  // namespace loopsmith::te
