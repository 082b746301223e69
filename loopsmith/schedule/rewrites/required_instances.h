// SPDX-License-Identifier: Apache-2.0
// The instances of a block that consumers at a new place require, and the loops that run them.
#pragma once
#include <span>
#include <vector>

#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/iteration_instances.h"
#include "loopsmith/schedule/queries/region_relaxation.h"

namespace loopsmith {

/// The values of each axis for which `region`, in terms of the block's axes, may intersect `box`;
/// both ends null: any value.
std::vector<arith::Interval> axes_accessing(const Block& block, const BufferRegion& region,
                                            const ElementRegion& box);

/// The values of one axis at a new place.
struct AxisRange {
  Expr min;
  Expr extent;
  std::vector<Expr> guards;  ///< Conditions on the value, which is `value` in them.
};

/// A block at a new place.
struct RequiredInstances {
  std::vector<AxisRange> axes;
  std::vector<Ptr<Var>> values;  ///< Stand for the values of the axes in conditions.
  std::vector<Expr> conditions;
};

/// The values of all axes.
std::vector<AxisValues> values_of(const RequiredInstances& place);

/// The instances of a block with these values of its axes, inside one iteration of `loop`. Its
/// present predicates stay. `known` holds, of loops around, wherever its results are needed: such a
/// condition becomes one of the block's where it makes a guard superfluous.
RequiredInstances instances_within(const Schedule& schedule, BlockRV block, LoopRV loop,
                                   const std::vector<arith::Interval>& axes,
                                   const Instances& instances, std::span<const Expr> known = {});

/// The loops ax0, ax1, ... around the block. Loops of one iteration are omitted unless
/// `preserve_unit_loops`.
Stmt nest_of(Schedule& schedule, BlockRV block, const RequiredInstances& place,
             bool preserve_unit_loops);

}  // namespace loopsmith
