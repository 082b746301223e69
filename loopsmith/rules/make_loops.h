// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_set>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"

namespace loopsmith {

/// Turns blocks for which there is no rule that takes steps into loops of its own making: the rest
/// of the default schedule. `func` is what the steps have made, `left` the blocks that are left.
Ptr<PrimFunc> make_loops(const Ptr<PrimFunc>& func, const std::unordered_set<const Object*>& left,
                         const CpuModel& machine);

}  // namespace loopsmith
