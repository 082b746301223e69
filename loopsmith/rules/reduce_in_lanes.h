// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// How a reduction along which loads are contiguous is divided among vectors.
struct LaneShape {
  std::int64_t lanes = 1;
  /// Independent vectors of partial results, which hide each other's latency.
  std::int64_t chains = 1;
};

/// The shape for a loop of that extent.
LaneShape lane_shape(std::optional<std::int64_t> extent, std::int64_t lanes);

/// The loops of the block of a nest, brought into this order: over results, over other reduction
/// axes, over `row`. Nothing where they have others than that block inside.
std::optional<std::vector<NestLoop>> loops_with_row_innermost(Schedule& schedule, const Nest& nest,
                                                              const Axis& row);

/// Puts the last loop of a block, which has as many iterations as the shape has lanes, into
/// vectors.
void put_in_lanes(Schedule& schedule, BlockRV block, LaneShape shape);

/// Combines along the innermost loop of a reduction in vectors: each lane has a partial result.
///
///     for k in n:               for l in 32: (4 vectors)     P[l] = 0
///       S[i] += A[i, k]   =>    for ko in ceil(n / 32):
///                                 for l in 32: (4 vectors)   P[l] += A[i, ko * 32 + l]
///                               S[i] = 0
///                               for l in 32: (4 vectors)     S[i] += P[l]
///
/// Gives the block that computes P, which stands in loops of its own before those of `block`.
BlockRV reduce_in_lanes(Schedule& schedule, BlockRV block, LaneShape shape);

}  // namespace loopsmith
