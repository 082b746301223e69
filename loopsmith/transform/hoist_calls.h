// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when `root` calls a function of the module.
bool calls_functions(const Ref& root);

/// Gives each `call_global` a statement of its own, the value of a LetStmt or an Evaluate; what
/// `rewrite` makes of the call, whose arguments were done, stands there.
Stmt hoist_calls(const Stmt& stmt, const std::function<Expr(const Call&)>& rewrite);

}  // namespace loopsmith
