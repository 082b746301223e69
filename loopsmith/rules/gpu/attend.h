// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Attention: a product whose left operand is the softmax of the rows of another product.
bool attend(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
