// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/rewrite_unsafe_select.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/rewrite_branch.h"

namespace loopsmith {
namespace {

/// True when each index lies inside the buffer, whatever the conditions around are.
bool is_inside(Analyzer& analyzer, const BufferLoad& load) {
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const Expr& index = load.indices[d];
    const Expr end = cast(index.dtype(), load.buffer->shape[d]);
    if (!index.dtype().is_scalar() || !analyzer.can_prove(index >= zero_of(index.dtype())) ||
        !analyzer.can_prove(index < end)) {
      return false;
    }
  }
  return true;
}

bool may_fault(Analyzer& analyzer, const Expr& value) {
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    const auto* call = ref.as<Call>();
    found = found || (load && !is_inside(analyzer, *load));
    found = found || (call && call->op.info().effect >= Effect::reads);
    return !found;
  });
  return found;
}

bool has_select(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    found = found || ref.is<Select>();
    return !found;
  });
  return found;
}

}  // namespace

Ptr<PrimFunc> rewrite_unsafe_select(const Ptr<PrimFunc>& func) {
  if (!has_select(func->body)) return func;
  Analyzer analyzer;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) { return rewrite_loop(rewrite, analyzer, node); });
  rewrite.on<IfThenElse>(
      [&](const IfThenElse& node) { return rewrite_branch(rewrite, analyzer, node); });
  rewrite.on<Select>([&](const Select& node) -> Expr {
    const Ptr<Select> inner = rewrite.children(node);
    if (!node.condition.dtype().is_scalar()) return inner;
    if (!may_fault(analyzer, node.true_value) && !may_fault(analyzer, node.false_value)) {
      return inner;
    }
    return if_then_else(inner->condition, inner->true_value, inner->false_value);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
