// SPDX-License-Identifier: Apache-2.0
// Loops whose bounds are others in each iteration of a loop around them.
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when a loop inside of this one may have other bounds in each of its iterations.
bool has_varying_loops(const For& loop);

}  // namespace loopsmith
