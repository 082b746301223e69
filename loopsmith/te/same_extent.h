// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith::te {

/// True when the two sizes are known to be the same number, whatever their variables are.
bool same_extent(const Expr& a, const Expr& b);

}  // namespace loopsmith::te
