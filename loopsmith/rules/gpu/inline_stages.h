// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::gpu {

/// Elements that are read once, or by neighbours, are computed where they are read. The first step
/// of all.
void inline_stages(Schedule& schedule);

}  // namespace loopsmith::gpu
