// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// Whether all that the nest accesses lies along the axis, does not move along it, or is loaded a
/// few elements apart: that takes as many loads of lines, of which lanes are chosen.
bool are_in_lines(const Nest& nest, const Axis& axis);

}  // namespace loopsmith
