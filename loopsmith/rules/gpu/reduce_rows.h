// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Reductions along what lies side by side.
bool reduce_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
