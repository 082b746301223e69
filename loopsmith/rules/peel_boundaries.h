// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// How a nest is peeled along one axis: how many of its points are borders. Between them no index
/// is clamped and no condition on the axis fails, so that vectors may be loaded there as they lie:
///
///     for x in n:                                  for x in 1 .. n - 1:
///       B[x] = A[max(x - 1, 0)] + A[x]      =>       B[x] = A[x - 1] + A[x]
///                                                  for x in 0 .. 1, n - 1 .. n:  as before
struct Peeling {
  Axis axis;
  std::int64_t first, last;                  ///< How many points come before, and behind.
  std::optional<Axis> cells = std::nullopt;  ///< The last axis, if it joins the points in between.
};

/// How an elementwise nest is peeled so that its vectors fill; nullopt if that does not help, or if
/// the widths of its borders are no numbers.
std::optional<Peeling> peel_boundaries(const Nest& nest, std::int64_t lanes);

}  // namespace loopsmith
