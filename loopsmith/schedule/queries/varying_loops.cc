// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/varying_loops.h"

#include <unordered_set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/any_statement.h"

namespace loopsmith {

namespace {

bool has_constant_bounds(const For& loop) {
  return loop.min.is<IntImm>() && loop.extent.is<IntImm>();
}

/// What has other values in each iteration of a loop.
class Varying {
 public:
  explicit Varying(const Ptr<Var>& loop) : variables_{loop.get()} {}

  /// True when the bounds of a statement, which stands inside the loop, vary.
  bool bounds(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) return has(loop->min) || has(loop->extent);
    if (const auto* let = stmt.as<LetStmt>()) {
      if (has(let->value)) variables_.insert(let->var.get());
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        if (has(realize->iter_values[i])) {
          variables_.insert(realize->block->iter_vars[i]->var.get());
        }
      }
    }
    return stmt.is<While>();
  }

 private:
  bool has(const Expr& value) const {
    bool found = false;
    pre_order_visit(value, [&](const Ref& ref) {
      found = found || ref.is<BufferLoad>() || ref.is<Call>() || variables_.contains(ref.get());
      return !found;
    });
    return found;
  }

  std::unordered_set<const Object*> variables_;
};

}  // namespace

bool has_varying_loops(const For& loop) {
  const bool may_vary = any_statement(loop.body, [](const Stmt& stmt) {
    const auto* inner = stmt.as<For>();
    return stmt.is<While>() || (inner && !has_constant_bounds(*inner));
  });
  if (!may_vary) return false;
  Varying varying(loop.loop_var);
  return any_statement(loop.body, [&](const Stmt& stmt) { return varying.bounds(stmt); });
}

}  // namespace loopsmith
