// SPDX-License-Identifier: Apache-2.0
// What loops record of the accumulations that their iterations make together, see regroups.h.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Records it on a loop whose kind a step has set.
void record_regrouping(Schedule& schedule, LoopRV loop);

/// Brings what loops record up to date after a step that moved accesses.
void renew_regroupings(Schedule& schedule);

}  // namespace loopsmith
