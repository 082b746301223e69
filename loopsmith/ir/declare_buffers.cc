// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/declare_buffers.h"

#include <ranges>

#include "loopsmith/ir/walk.h"

namespace loopsmith {

Ptr<PrimFunc> declare_buffers(const Ptr<PrimFunc>& func) {
  const std::vector<Ptr<Buffer>> undeclared = free_buffers(func);
  if (undeclared.empty()) return func;
  const auto declared = [&](const Ptr<Var>& pointer, Stmt body) {
    for (const Ptr<Buffer>& buffer : std::views::reverse(undeclared)) {
      if (buffer->data.same_as(pointer)) body = make(DeclBuffer{.buffer = buffer, .body = body});
    }
    return body;
  };
  Rewriter rewrite;
  const auto inside = [&](const auto& node, const Ptr<Var>& pointer) -> Stmt {
    auto copy = *rewrite.children(node);
    copy.body = declared(pointer, std::move(copy.body));
    return make(std::move(copy));
  };
  rewrite.on<Allocate>([&](const Allocate& node) { return inside(node, node.buffer_var); });
  rewrite.on<AllocateConst>(
      [&](const AllocateConst& node) { return inside(node, node.buffer_var); });
  rewrite.on<LetStmt>([&](const LetStmt& node) { return inside(node, node.var); });
  Stmt body = rewrite(func->body);
  for (std::size_t i = func->params.size(); i-- > 0;) {
    const Ptr<Buffer>& buffer = func->buffer_map[i];
    body = declared(buffer ? buffer->data : func->params[i], std::move(body));
  }
  return with_body(func, std::move(body));
}

}  // namespace loopsmith
