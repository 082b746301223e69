// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// A nest cut along one axis into its borders and what lies between them, where no index is clamped
/// and no condition on the axis fails, so that vectors may be loaded there as they lie:
///
///     for x in n:                                  for x in 1 .. n - 1:
///       B[x] = A[max(x - 1, 0)] + A[x]      =>       B[x] = A[x - 1] + A[x]
///                                                  for x in 0 .. 1, n - 1 .. n:  as before
struct PeeledNest {
  Axis axis;                                 ///< The axis that is cut, whole.
  Axis middle;                               ///< Its points between the borders.
  std::optional<Axis> cells = std::nullopt;  ///< What is merged with it, whole: the last axis.
  Nest nest;                                 ///< The nest there.
  std::vector<Axis> axes;                    ///< Its axes among those that were given.
  /// How many points come before the middle, and after it, where these are numbers.
  std::optional<std::pair<std::int64_t, std::int64_t>> widths = {};
  std::vector<Ptr<Buffer>> views;  ///< What stands around it for its columns to be merged.
};

/// How an elementwise nest is cut so that its vectors fill; nullopt if cutting does not help, or
/// its axis is not among `axes`.
std::optional<PeeledNest> peel_boundaries(const Nest& nest, const std::vector<Axis>& axes,
                                          std::int64_t lanes);

/// for x in the borders:  body(x)
Stmt loop_over_borders(const PeeledNest& cut, const BodyOf& body);

}  // namespace loopsmith
