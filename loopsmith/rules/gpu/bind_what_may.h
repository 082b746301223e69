// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// All else.
bool bind_what_may(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
