// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Loop fission: the statements before the loop's reduction move to a loop of their own over the
/// same range, in front of it. Nullopt where there are none, where a statement follows the
/// reduction, or where fission might reverse a dependence.
///
/// Typically each thread computes one element in the loop and the loop then reduces over them.
std::optional<Schedule> with_reduction_split_off(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
