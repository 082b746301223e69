// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// That the variable of a loop is one that it runs through; null where its step is no constant.
Expr range_condition(const For& loop);

/// The path condition of a scope: the ranges of the loops and axes around it, the conditions under
/// which its block runs, and that the sizes of parameters are not negative.
Expr path_condition(const Schedule& schedule, NodeId scope);

/// The outermost loop `nest` under its path condition: the `if`s and assertions around it, that
/// memory which it always stores to is not empty, and that the sizes of parameters are not
/// negative. Pointers and sums that LetStmts bind around it are bound in the result, too.
Stmt under_path_condition(const Schedule& schedule, NodeId nest);

/// Asserts to the analyzer that the sizes of a function's buffer parameters are not negative.
void learn_sizes(const Schedule& schedule, std::uint32_t function, Analyzer& analyzer);

/// The length of a dimension for `extent` values: 0 where there are less.
Expr dimension_for(const Schedule& schedule, std::uint32_t function, const Expr& extent);

}  // namespace loopsmith
