// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

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
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// True when a `break` or `continue` in `body` is about the loop around it.
bool leaves_loop(const Stmt& body);

/// While the result lives, the analyzer knows what values the variable of `loop` takes, and that
/// the loop runs: what follows of its ends holds inside of it alone.
[[nodiscard]] ConstraintScope enter_loop(Analyzer& analyzer, const For& loop);

/// `body`, of `loop`, rewritten where the analyzer knows what values the loop's variable takes and,
/// until the end of the body, that the loop runs.
Stmt rewrite_inside(Rewriter& rewrite, Analyzer& analyzer, const For& loop, const Stmt& body);
/// The same of the whole loop.
Stmt rewrite_loop(Rewriter& rewrite, Analyzer& analyzer, const For& loop);

/// What a loop has inside: how deep its loops are nested, itself counted, how many statements, any
/// conditions.
struct LoopContent {
  int levels = 0;
  int statements = 0;
  bool has_conditions = false;
};

/// By loop variable: a loop keeps its own when its body is rewritten.
using LoopContents = std::unordered_map<const Object*, LoopContent>;

/// The contents of each loop in `body`.
LoopContents measure_loops(const Stmt& body);

/// `around`, a loop, a definition, memory, a block, whose init goes, or a condition without `else`,
/// with another body.
Stmt with_body(const Stmt& around, Stmt body);

/// Calls `visit` for each loop, with it inside of what stands around it, alone: so much is known of
/// the variables outside. Conditions that read memory are left out: they hold for all of a loop, or
/// for nothing of it.
void each_loop_alone(const Stmt& root, const std::function<bool(const For&)>& is_wanted,
                     const std::function<void(const For&, const Stmt&)>& visit);

/// The buffers that a function allocates.
std::vector<Ptr<Buffer>> allocated_buffers(const Stmt& body);

/// The conditions that decide an if_then_else somewhere in `expr`.
std::vector<Expr> choices_in(const Ref& expr);

}  // namespace loopsmith
