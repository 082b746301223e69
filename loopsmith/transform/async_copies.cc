// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/async_copies.h"

#include <cmath>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// True for a constant whose bits are all zero, in all lanes.
bool is_zero(const Expr& value) {
  const auto* lanes = value.as<Broadcast>();
  const Expr& element = lanes ? lanes->value : value;
  const auto* number = element.as<FloatImm>();
  return is_const_int(element, 0) || (number && number->value == 0 && !std::signbit(number->value));
}

}  // namespace

std::optional<CopyIntoShared> copy_into_shared(const BufferStore& store) {
  const auto* choice = store.value.as<Call>();
  const bool is_padded = choice && choice->op == op("if_then_else") && is_zero(choice->args[2]);
  const auto* source = (is_padded ? choice->args[1] : store.value).as<BufferLoad>();
  const bool is_copy = source && source->buffer->scope() == "global" &&
                       source->buffer->dtype == store.buffer->dtype &&
                       store.buffer->scope().starts_with("shared");
  if (!is_copy) return {};
  return CopyIntoShared{source, is_padded ? choice->args[0] : Expr()};
}

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
