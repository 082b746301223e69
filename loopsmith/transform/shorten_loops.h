// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// `stmt` with loops that run as far as what is guarded in them, where that is a constant; some
/// variables around have `known` values.
///
///     for i in 4:                  for i in 1:
///       if i + 20 < 21: ...   =>     ...
Stmt shorten_loops(const Stmt& stmt, Analyzer& analyzer, const Substitution& known);

}  // namespace loopsmith
