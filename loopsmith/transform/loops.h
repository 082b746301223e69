// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// True when a statement of that type is in `root`.
template <class T>
bool contains(const Stmt& root) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    found = found || ref.is<T>();
    return !found && !node_info(*ref.get()).is_expr;
  });
  return found;
}

/// True when a `break` or `continue` in `body` is about the loop around it.
bool leaves_loop(const Stmt& body);

/// Tells the analyzer what values the variable of `loop` takes.
void bind_loop(Analyzer& analyzer, const For& loop);

}  // namespace loopsmith
