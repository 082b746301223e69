// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/replacement.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

const Stmt& body_of_scope(const Schedule& schedule, NodeId scope) {
  if (const auto* realize = schedule.as<BlockRealize>(scope)) return realize->block->body;
  return schedule.as<PrimFunc>(scope)->body;
}

Stmt with_replaced(const Stmt& body, const Replacements& by) {
  if (const auto found = by.find(body.get()); found != by.end()) return found->second;
  if (body.is<BlockRealize>()) return body;
  Rewriter rewrite;
  const auto visit = [&](const auto& node) -> Stmt {
    const auto found = by.find(&node);
    return found != by.end() ? found->second : Stmt(rewrite.children(node));
  };
  rewrite.on<BlockRealize>([&](const BlockRealize& node) -> Stmt {
    const auto found = by.find(&node);
    return found != by.end() ? found->second : Stmt(Ptr<BlockRealize>(&node));
  });
  rewrite.on<BufferStore>(visit);
  rewrite.on<Evaluate>(visit);
  rewrite.on<IfThenElse>(visit);
  rewrite.on<LetStmt>(visit);
  rewrite.on<For>(visit);
  rewrite.on<While>(visit);
  return rewrite(body);
}

Stmt no_statement() {
  return make(Evaluate{.value = int_imm(i32, 0)});
}

}  // namespace loopsmith
