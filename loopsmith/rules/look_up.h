// SPDX-License-Identifier: Apache-2.0
// How rules reach blocks and loops, so that the trace says how.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/nest.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Looks up a block at the top of the function as a step, by its name where that is its own.
BlockRV look_up(Schedule& schedule, BlockRV block);

/// A loop of a nest and the axis that it gives its value to.
struct NestLoop {
  LoopRV loop;
  Axis axis;
};

/// Looks up the loops of a nest, outermost first. Loops of one iteration have an axis without a
/// variable. Nothing where they hold another block, too.
std::optional<std::vector<NestLoop>> look_up_loops(Schedule& schedule, const Nest& nest);

}  // namespace loopsmith
