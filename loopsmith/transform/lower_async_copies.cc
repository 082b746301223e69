// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_async_copies.h"

#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

Ptr<PrimFunc> lower_async_copies(const Ptr<PrimFunc>& func, bool has_async_copies) {
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    if (node.attr_key == async_done) {
      if (!has_async_copies) return no_op();
      const Expr groups = cast(i32, node.value);
      return make(Evaluate{.value = call(i32, op("ptx_wait_group"), {groups})});
    }
    const Ptr<AttrStmt> inner = rewrite.children(node);
    return node.attr_key == async_scope && !has_async_copies ? inner->body : Stmt(inner);
  });
  rewrite.on<Evaluate>([&](const Evaluate& node) -> Stmt {
    const auto* call = node.value.as<Call>();
    const bool is_commit = call && call->op == op("ptx_commit_group");
    return is_commit && !has_async_copies ? no_op() : Stmt(&node);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
