// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/pointer_uses.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

bool leads_to_caches(const Stmt& scope, const Buffer& buffer) {
  if (!buffer.strides.empty()) return false;
  if (buffer.elem_offset.defined() && !is_const_int(buffer.elem_offset, 0)) return false;
  bool found_other = false;
  std::function<bool(const Ref&)> enter = [&](const Ref& ref) {
    if (found_other || ref.get() == &buffer) return false;
    const auto* call = ref.as<Call>();
    if (call && call->op == op("tvm_access_ptr") && call->args[1].same_as(buffer.data)) {
      for (std::size_t i = 2; i < call->args.size(); ++i) pre_order_visit(call->args[i], enter);
      return false;
    }
    if (const auto* let = ref.as<LetStmt>(); let && let->var->dtype.is_handle()) {
      const auto used = free_buffers(let->value);
      found_other = std::ranges::any_of(used, [&](const auto& b) { return b.get() == &buffer; });
    }
    found_other = found_other || ref.same_as(buffer.data) || is_view_of(ref, buffer);
    return !found_other;
  };
  pre_order_visit(scope, enter);
  return !found_other;
}

Buffer with_pointer(const Buffer& buffer, std::string name, DataType dtype,
                    std::string_view scope) {
  Buffer copy = buffer;
  copy.data = pointer_var(name, dtype, std::string(scope));
  copy.name = std::move(name);
  copy.dtype = dtype;
  return copy;
}

void change_with_views(Schedule& schedule, const BufferAccesses& uses, AccessChange change,
                       const Ptr<Buffer>& from, const Ptr<Buffer>& to) {
  change.from = from;
  change.to = to;
  change_accesses(schedule, uses, change);
  if (!uses.by_view) return;
  for (const NodeId node : uses.nodes) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (std::size_t i = 0; i < realize->block->match_buffers.size(); ++i) {
      realize = schedule.as<BlockRealize>(node);
      MatchBufferRegion match = *realize->block->match_buffers[i];
      if (!match.source->buffer.same_as(from)) continue;
      const Ptr<Buffer> view = match.buffer;
      BufferRegion source = *match.source;
      source.buffer = to;
      match.source = make(std::move(source));
      if (view->dtype != to->dtype || view->scope() != to->scope()) {
        match.buffer = make(with_pointer(*view, view->name, to->dtype, to->scope()));
        change_with_views(schedule, uses_of(schedule, node, view), change, view, match.buffer);
      }
      auto& block = const_cast<Block&>(*static_cast<BlockRealize&>(schedule.edit(node)).block);
      block.match_buffers[i] = make(std::move(match));
    }
  }
}

}  // namespace loopsmith
