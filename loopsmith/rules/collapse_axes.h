// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// The nest with one axis in the place of the last two of its stores, where the last is so short
/// that it would not fill vectors, and all accesses move alike along the two:
///
///     for x in columns:                           for x_c in columns * 3:
///       for c in 3:                         =>      B'[x_c] = A'[x_c] + A'[x_c + 3]
///         B[x, c] = A[x, c] + A[x + 1, c]
///
/// A' and B' are views without the last dimension; they are added to `views`. Only axes in `axes`
/// are merged, and replaced there.
std::optional<Nest> with_collapsed_axes(const Nest& nest, std::vector<Axis>& axes,
                                        std::int64_t lanes, std::vector<Ptr<Buffer>>& views);

}  // namespace loopsmith
