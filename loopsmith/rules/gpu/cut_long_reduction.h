// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Long reductions to few results.
bool cut_long_reduction(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
