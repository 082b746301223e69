// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Points that are independent of each other.
bool bind_elements(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
