// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/moved_pointer.h"

#include <optional>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using Find = std::function<const MovedPointer*(const Var&)>;

/// Which argument says how far from the pointer `argument` memory begins, if one does in elements.
std::optional<std::size_t> offset_argument(const Call& call, std::size_t argument) {
  if (call.op == op("tvm_access_ptr") && argument == 1 && call.args[0].dtype().is_scalar()) {
    return 2;
  }
  if (call.op == op("tvm_stack_make_array") && argument == 0) return 5;
  return {};
}

const MovedPointer* moved(const Expr& expr, const Find& find) {
  const auto* var = expr.as<Var>();
  return var ? find(*var) : nullptr;
}

Expr moved_call(Rewriter& rewriter, const Call& node, const Find& find) {
  std::optional<Call> copy;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const MovedPointer* to = moved(node.args[i], find);
    if (!to) continue;
    if (!copy) copy = node;
    if (const std::optional<std::size_t> offset = offset_argument(node, i)) {
      copy->args[i] = to->data;
      copy->args[*offset] = copy->args[*offset] + to->offset;
    } else {
      copy->args[i] = to->first;
    }
  }
  return copy ? rewriter.children(*make(*std::move(copy))) : rewriter.children(node);
}

Stmt moved_declaration(Rewriter& rewriter, const DeclBuffer& node, const Find& find) {
  const MovedPointer* to = find(*node.buffer->data);
  if (!to) return rewriter.children(node);
  Buffer buffer = *node.buffer;
  buffer.data = to->data;
  buffer.elem_offset = buffer.elem_offset.defined() ? buffer.elem_offset + to->offset : to->offset;
  DeclBuffer copy = node;
  copy.buffer = make(std::move(buffer));
  rewriter.replace_buffer(node.buffer, copy.buffer);
  return rewriter.children(*make(std::move(copy)));
}

Stmt moved_let(Rewriter& rewriter, const LetStmt& node, const Find& find) {
  const MovedPointer* to = moved(node.value, find);
  if (!to) return rewriter.children(node);
  LetStmt copy = node;
  copy.value = to->first;
  return rewriter.children(*make(std::move(copy)));
}

}  // namespace

void move_pointers(Rewriter& rewriter, Find find) {
  rewriter.on<Call>(
      [&rewriter, find](const Call& node) { return moved_call(rewriter, node, find); });
  rewriter.on<DeclBuffer>([&rewriter, find](const DeclBuffer& node) {
    return moved_declaration(rewriter, node, find);
  });
  rewriter.on<LetStmt>(
      [&rewriter, find](const LetStmt& node) { return moved_let(rewriter, node, find); });
}

}  // namespace loopsmith
