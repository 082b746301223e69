// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <unordered_set>
#include <vector>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// `a` and `b` and ...; `true` for none.
Expr conjunction(const std::vector<Expr>& conditions);

/// `body` where `condition` holds; `body` itself when that is always so.
Stmt guarded(const Expr& condition, Stmt body);

/// A comparison of indices by < <= > or >= that is the same whenever it is asked.
std::optional<arith::Comparison> timeless_comparison(const Expr& condition);

using ConditionSet = std::unordered_set<const Object*>;

/// `body` without the conditions of `known`, which hold.
Stmt without_conditions(const Stmt& body, const ConditionSet& known);

}  // namespace loopsmith
