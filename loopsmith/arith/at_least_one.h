// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"

namespace loopsmith {

/// The extent of a part of a loop, for all sizes: as written where that is known to be positive,
/// else no less than 1, as a loop in parts of none would never end.
Expr at_least_one(const Expr& extent, Analyzer& analyzer);

}  // namespace loopsmith
