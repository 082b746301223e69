// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Independent chains of combinations, enough to hide the latency of one.
inline constexpr std::int64_t max_chains = 4;
/// Partial results of a full reduction.
inline constexpr std::int64_t part_count = 64;

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

/// The blocks of a reduction that is divided among lanes.
struct LaneReduction {
  BlockRV start;    ///< Sets the partial results to their first values.
  BlockRV partial;  ///< Computes them, in loops of its own before those of `total`.
  BlockRV total;    ///< Combines them.
  LaneShape shape;
};

/// Combines along the innermost loop of a reduction in lanes, each with a partial result, that are
/// to become vectors.
///
///     for k in n:               for l in 32:   P[l] = 0
///       S[i] += A[i, k]   =>    for ko in ceil(n / 32):
///                                 for l in 32: P[l] += A[i, ko * 32 + l]
///                               S[i] = 0
///                               for l in 32:   S[i] += P[l]
///
/// Where `producer`, the loop over as many vectors of what computes A, stands just before, both
/// share it.
LaneReduction reduce_in_lanes(Schedule& schedule, BlockRV block, LaneShape shape,
                              std::optional<LoopRV> producer = {});

/// Puts the lanes into vectors, a chain in each. The last of the steps: those that move loops would
/// have to show again that vectors are right.
void vectorize_lanes(Schedule& schedule, const LaneReduction& reduction);

}  // namespace loopsmith
