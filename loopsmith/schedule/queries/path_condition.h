// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// What holds inside a scope: where the loops and axes around it range, and the conditions under
/// which its block runs.
Expr path_condition(const Schedule& schedule, NodeId scope);

/// The outermost loop `nest` under the conditions that hold whenever it does something: those of
/// the `if`s and assertions around it, and that memory which it always stores to is not empty. And
/// where pointers lead that are let around it.
Stmt under_path_condition(const Schedule& schedule, NodeId nest);

/// Tells the analyzer that sizes of buffers which a function is called with are not negative.
void learn_sizes(const Schedule& schedule, std::uint32_t function, Analyzer& analyzer);

}  // namespace loopsmith
