// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// `if c: X[i] = u else: X[i] = v`, and chains of such branches, as one store without a branch,
/// `X[i] = if_then_else(c, u, v)`; null for branches that store anything else, or not always.
Stmt store_of_branches(const IfThenElse& branch);

}  // namespace loopsmith
