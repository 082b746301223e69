// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The variables that callers give a function: parameters, and sizes of its buffers. Their values
/// stay while it runs.
std::vector<Ptr<Var>> function_variables(const PrimFunc& func);

/// What an expression reads that may be no size of the function; empty: nothing.
std::string read_beside_sizes(const PrimFunc& func, const Expr& expr);

}  // namespace loopsmith
