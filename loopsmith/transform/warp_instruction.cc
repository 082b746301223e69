// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/warp_instruction.h"

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

FragmentUse use_of(const Buffer& tile) {
  switch (memory_scope(tile)) {
    case MemoryScope::matrix_a: return FragmentUse::left;
    case MemoryScope::matrix_b: return FragmentUse::right;
    default: return FragmentUse::results;
  }
}

bool has_fragments(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* allocate = ref.as<Allocate>();
    found = found || (allocate && is_fragment(memory_scope(*allocate->buffer_var)));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

MarkedStore marked_store(const Stmt& body) {
  MarkedStore marked;
  for (Stmt at = body;;) {
    if (const auto* loop = at.as<For>()) {
      marked.loops.emplace_back(loop);
      at = loop->body;
    } else {
      marked.store = at.as<BufferStore>();
      return marked;
    }
  }
}

std::string instruction_of(const AttrStmt& mark) {
  const auto* name = mark.value.as<StringImm>();
  return name ? name->value : "";
}

bool is_product(std::string_view instruction) {
  return instruction == "mma" || instruction == "wgmma";
}

bool has_products_of_four_warps(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* mark = ref.as<AttrStmt>();
    found =
        found || (mark && mark->attr_key == warp_instruction && instruction_of(*mark) == "wgmma");
    return !found && !is_expr(*ref.get());
  });
  return found;
}

void require_known(bool is_known, const AttrStmt& mark) {
  require(is_known, ErrorKind::lower, "warp_instruction_is_known",
          hint("use the tensor intrinsics that are built in, wmma_..."), mark.span,
          "there is no warp instruction {} of such a form", instruction_of(mark));
}

}  // namespace loopsmith
