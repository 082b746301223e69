// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// The distance of neighbours along the axis: 1 where the access lies along it or does not move
/// along it, more for loads a few elements apart, and nothing for others.
std::optional<std::int64_t> stride_in_lines(const NestAccess& access, const Axis& axis);

/// The largest distance of neighbours along the axis, where all that the nest accesses lies along
/// it, does not move along it, or is loaded a few elements apart: that takes as many loads of
/// lines, of which lanes are chosen.
std::optional<std::int64_t> stride_in_lines(const Nest& nest, const Axis& axis);

}  // namespace loopsmith
