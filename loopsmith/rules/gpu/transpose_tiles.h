// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Elements read across what they are written along.
bool transpose_tiles(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
