// SPDX-License-Identifier: Apache-2.0
// Spaces: the schedules among which a tuner searches.
#pragma once
#include <functional>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// Takes steps on a schedule, some of which sample. Throws a ScheduleError where it drew what is no
/// schedule.
using Space = std::function<void(Schedule&)>;

/// The space of a trace whose first sample chooses between it, with samples that decide anew, and
/// another space.
Space either(Trace trace, Space other);

}  // namespace loopsmith::tune
