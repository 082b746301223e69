// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// c0, ..., cn-1, base with expr == c0 * vars[0] + ... + base, where no coefficient mentions its
/// own or a later variable; empty when there are none.
std::vector<Expr> detect_linear_equation(const Expr& expr, std::span<const Ptr<Var>> vars);

/// For each variable, two elements: the least and the largest value with which the condition may
/// hold, null where it sets no limit. `condition` is a conjunction of comparisons, each of exactly
/// one of the variables with a coefficient of 1 or -1; for any other, the result is empty.
std::vector<Expr> detect_clip_bound(const Expr& condition, std::span<const Ptr<Var>> vars);

}  // namespace loopsmith
