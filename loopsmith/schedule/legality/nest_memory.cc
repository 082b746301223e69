// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/nest_memory.h"

#include <algorithm>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {

bool is_one_of(const std::vector<Ptr<Buffer>>& buffers, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(buffers, [&](const auto& each) { return each.same_as(buffer); });
}

std::vector<Ptr<Buffer>> memory_of_nest(const Schedule& schedule, NodeId nest,
                                        const ElementAccesses& accesses, Concurrency how,
                                        OwnMemory& memory, const std::vector<Ptr<Buffer>>& alike) {
  std::vector<Ptr<Buffer>> found;
  const auto is_written = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(accesses.all, [&](const ElementAccess& access) {
      return access.is_write && access.buffer == buffer.get();
    });
  };
  const auto* loop = schedule.as<For>(nest);
  const auto may_have = [&](const Ptr<Buffer>& buffer) {
    return is_private_to_iteration(how, memory_scope(*buffer)) || is_one_of(alike, buffer);
  };
  const auto is_left = [&](NodeId around, const Ptr<Buffer>& buffer) {
    return loop && !is_live_after(schedule.statement(around), *loop, buffer);
  };
  for (NodeId node = schedule.at(nest).parent; node != no_node; node = schedule.at(node).parent) {
    const auto* allocate = schedule.as<Allocate>(node);
    if (allocate && allocate->extents.empty()) {
      for (const ElementAccess& access : accesses.all) {
        const Ptr<Buffer> buffer(access.buffer);
        const bool is_new = access.is_write && !is_one_of(found, buffer) &&
                            buffer->data.same_as(allocate->buffer_var);
        if (is_new && may_have(buffer) && is_left(node, buffer)) found.push_back(buffer);
      }
    }
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
      if (!may_have(buffer) || !is_written(buffer)) continue;
      const BufferAccesses& uses = memory.uses(node, buffer);
      if (!uses.by_indices_alone()) continue;
      const bool is_alone = std::ranges::all_of(
          uses.nodes, [&](NodeId use) { return is_inside(schedule, use, nest); });
      if (is_alone || is_left(node, buffer)) found.push_back(buffer);
    }
  }
  return found;
}

bool is_known_as_own(OwnMemory& questions, LoopRV loop, const Buffer* buffer,
                     const std::vector<Ptr<Buffer>>& memory, std::vector<Ptr<Buffer>>& own) {
  const auto is_this = [&](const Ptr<Buffer>& each) { return each.get() == buffer; };
  if (std::ranges::any_of(own, is_this)) return true;
  const auto found = std::ranges::find_if(memory, is_this);
  if (found == memory.end() || !questions.has_for_itself(loop, *found)) return false;
  own.push_back(*found);
  return true;
}

std::vector<Ptr<Buffer>> take_shared(Concurrency how, ElementAccesses& accesses) {
  std::vector<Ptr<Buffer>> shared;
  if (how != Concurrency::in_block_threads) return shared;
  std::erase_if(accesses.owned, [&](const Object* object) {
    const Ptr<Buffer> buffer(static_cast<const Buffer*>(object));
    const bool is_shared = is_shared_by_threads(memory_scope(*buffer));
    if (is_shared) shared.push_back(buffer);
    return is_shared;
  });
  return shared;
}

void add_shared_around(const Schedule& schedule, NodeId loop, Concurrency how,
                       std::vector<Ptr<Buffer>>& shared) {
  for (NodeId node = schedule.at(loop).parent; node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
      if (!is_private_to_iteration(how, memory_scope(*buffer))) shared.push_back(buffer);
    }
  }
}

}  // namespace loopsmith
