// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Loops of which each iteration needs the value of the one before.
bool scan_parts(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
