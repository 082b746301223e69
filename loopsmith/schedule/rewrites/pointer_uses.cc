// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/pointer_uses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

namespace {

/// Looks for uses of a buffer's memory that would miss a cache.
class PointerUses {
 public:
  explicit PointerUses(const Buffer& buffer) : buffer_(buffer), pointers_{buffer.data} {}

  bool lead_to_caches(const Ref& root) {
    visit(root);
    return !found_other_;
  }

 private:
  void visit(const Ref& root) {
    pre_order_visit(root, [&](const Ref& ref) { return enter(ref); });
  }

  bool enter(const Ref& ref) {
    if (found_other_ || ref.get() == &buffer_) return false;
    if (const auto* block = ref.as<Block>()) {
      look_inside(*block);
      return false;
    }
    if (const auto* call = ref.as<Call>()) {
      // A function may do anything but for what its block declares, where that is trusted.
      const bool is_unknown =
          !host_function_of(*call).empty() && !(block_ && is_trusted_call(*block_, *call));
      found_other_ = is_unknown && std::ranges::any_of(call->args, [&](const Expr& argument) {
                       return is_address(argument);
                     });
      if (call->op == op("tvm_access_ptr") && call->args[1].same_as(buffer_.data)) {
        for (std::size_t i = 2; i < call->args.size(); ++i) visit(call->args[i]);
        return false;
      }
    }
    if (const auto* let = ref.as<LetStmt>(); let && let->var->dtype.is_handle()) {
      found_other_ = found_other_ || is_address(let->value);
    }
    found_other_ = found_other_ || ref.same_as(buffer_.data) || is_view_of(ref, buffer_);
    return !found_other_;
  }

  void look_inside(const Block& block) {
    const Block* const outer = std::exchange(block_, &block);
    for (const auto& match : block.match_buffers) {
      if (is_ours(match->source->buffer->data)) pointers_.push_back(match->buffer->data);
    }
    if (block.init) visit(block.init);
    visit(block.body);
    block_ = outer;
  }

  bool is_ours(const Ref& pointer) const {
    return std::ranges::any_of(pointers_, [&](const auto& own) { return own.same_as(pointer); });
  }

  /// True where the buffer, a view of it or the pointer of one occurs.
  bool is_address(const Expr& expr) const {
    bool found = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* used = ref.as<Buffer>();
      found = found || is_ours(used ? Ref(used->data) : ref);
      return !found;
    });
    return found;
  }

  const Buffer& buffer_;
  std::vector<Ptr<Var>> pointers_;  ///< Of the buffer, and of its views.
  const Block* block_ = nullptr;
  bool found_other_ = false;
};

}  // namespace

bool leads_to_caches(const Stmt& scope, const Buffer& buffer) {
  const bool starts_at_its_pointer =
      !buffer.elem_offset.defined() || is_const_int(buffer.elem_offset, 0);
  return buffer.strides.empty() && starts_at_its_pointer &&
         PointerUses(buffer).lead_to_caches(scope);
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
