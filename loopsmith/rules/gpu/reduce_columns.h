// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Reductions across what lies side by side.
bool reduce_columns(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
