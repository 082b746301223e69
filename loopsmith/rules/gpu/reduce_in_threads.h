// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Short reductions: each thread does one alone, and what is made of the result.
bool reduce_in_threads(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
