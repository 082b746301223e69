// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// Lets `rewrite` ask `change` of each expression that is neither a variable nor a literal what
/// takes its place, the largest first; where it gives null, what is inside is asked about.
void replace_expressions(Rewriter& rewrite, const std::function<Expr(const Expr&)>& change);

}  // namespace loopsmith
