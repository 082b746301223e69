// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Sums of products whose operands each lack an axis of the result.
bool tile_product(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
