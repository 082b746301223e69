// SPDX-License-Identifier: Apache-2.0
// Reductions that may have nothing to reduce: their init then runs outside of their loops.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The extents of the domains of reduction axes that may be empty; none where there is no init.
std::vector<Expr> unsure_domains(const Block& block);

/// A loop around `node` of the same scope, or `node`, that the block reduces over, if its reduction
/// may be empty.
std::optional<LoopRV> loop_of_empty_reduction(const Schedule& schedule, BlockRV block, NodeId node);

}  // namespace loopsmith
