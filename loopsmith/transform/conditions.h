// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The conditions of which `condition` is the conjunction; none for `true`. `likely` is looked
/// through.
std::vector<Expr> conjuncts_of(const Expr& condition);

/// `a` and `b` and ...; `true` for none.
Expr conjunction(const std::vector<Expr>& conditions);

/// `body` where `condition` holds; `body` itself when that is always so.
Stmt guarded(const Expr& condition, Stmt body);

}  // namespace loopsmith
