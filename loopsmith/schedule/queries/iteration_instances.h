// SPDX-License-Identifier: Apache-2.0
// Which instances of a block run in one iteration of a loop around it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The values of an axis: `extent` neighbours from `min` on.
struct AxisValues {
  Expr min;
  Expr extent;
};

/// The innermost loop of the scope around both nodes; no_node: there is none.
NodeId common_loop(const Schedule& schedule, NodeId a, NodeId b);

/// True when a block, at the place where it is, runs in each iteration of `around` all instances
/// with `values` of its axes that are in their domains and satisfy the block's conditions, which
/// are known to be about its axes (`instances_of`). `values` are in terms of the loops around
/// `place`, which is inside of `around`, too.
bool runs_in_iteration(const Schedule& schedule, BlockRV block, NodeId around, NodeId place,
                       std::span<const AxisValues> values);

/// True when the iterations of the loops around `place`, up to that of `around`, have between them
/// as `values` exactly the instances that the block runs in an iteration of `around`.
bool are_those_of_iteration(const Schedule& schedule, BlockRV block, NodeId around, NodeId place,
                            std::span<const AxisValues> values);

}  // namespace loopsmith
