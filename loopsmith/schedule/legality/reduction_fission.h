// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The program with a loop in two: all that comes before its reduction, which stays in the loop, in
/// a loop of its own over the same range. Nullopt where there is nothing before it, where something
/// comes after it, or where the order of dependences might change.
///
/// What threads reduce is mostly made in the same loop, an element by each thread.
std::optional<Schedule> with_reduction_split_off(const Schedule& schedule, LoopRV loop);

}  // namespace loopsmith
