// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when a `break` or `continue` in `body` is about the loop around it.
bool leaves_loop(const Stmt& body);

/// Tells the analyzer what values the variable of `loop` takes.
void bind_loop(Analyzer& analyzer, const For& loop);

}  // namespace loopsmith
