// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// What an init would store that is neutral for a block without one, whose body is an accumulation
/// and whose spatial axes identify the elements that it updates; null for other blocks.
Stmt neutral_init_of(const Schedule& schedule, BlockRV block);

}  // namespace loopsmith
