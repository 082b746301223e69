// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Sums of products of types that tensor cores multiply: float16, bfloat16 and int8.
bool tensor_core_product(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
