// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// `a` and `b` and ...; `true` for none.
Expr conjunction(const std::vector<Expr>& conditions);

/// `body` where `condition` holds; `body` itself when that is always so.
Stmt guarded(const Expr& condition, Stmt body);

}  // namespace loopsmith
