// SPDX-License-Identifier: Apache-2.0
// Scripts write intervals by their ends, the IR by start and extent. These two go back and forth
// without loss, so that what is printed parses to the same.
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// Where min, min + step, ... stops after `extent` steps: `extent_between` gives `extent` back.
Expr stop_of(const Expr& min, const Expr& extent, const Expr& step = 1);

/// How many steps lead from `start` to `stop`, without simplification: n for (i * 4, i * 4 + n).
Expr extent_between(const Expr& start, const Expr& stop, const Expr& step = 1);

}  // namespace loopsmith
