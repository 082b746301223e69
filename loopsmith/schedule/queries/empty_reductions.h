// SPDX-License-Identifier: Apache-2.0
// Reductions that may have nothing to reduce: their init then runs outside of their loops.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The extents of the domains of reduction axes that may be empty; none where there is no init.
std::vector<Expr> unsure_domains(const Schedule& schedule, BlockRV block);

/// A reduction over iterations of the loop, of whose parts some may have nothing to reduce, and
/// would give the init, while others have: its domain depends on the loop.
std::optional<BlockRV> reduction_empty_in_parts(const Schedule& schedule, LoopRV loop);

/// A loop around `node` of the same scope, or `node`, that the block reduces over, if its reduction
/// may be empty.
std::optional<LoopRV> loop_of_empty_reduction(const Schedule& schedule, BlockRV block, NodeId node);

/// Refuses where a reduction over one of the loops may be empty, and its init would notice that it
/// runs before what is inside `node`.
std::optional<Refusal> refuse_inits_before(const Schedule& schedule, NodeId node,
                                           std::span<const LoopRV> loops);

}  // namespace loopsmith
