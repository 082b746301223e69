// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith::gpu {

/// Elements of rows, made of what was reduced of the same rows.
bool fuse_rows(Schedule& schedule, const Subject& subject, const RuleContext& context);

}  // namespace loopsmith::gpu
