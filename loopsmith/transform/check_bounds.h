// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Stops where an access leaves its buffer for certain: one that no condition guards, whose index
/// is a sum of constants times loop variables over constant ranges, so that the least and the
/// largest index are known exactly. Other accesses are not looked at.
void check_bounds(const PrimFunc& func);

}  // namespace loopsmith
