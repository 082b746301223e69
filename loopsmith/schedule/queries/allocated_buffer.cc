// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/allocated_buffer.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {
namespace {

using IsMeant = std::function<bool(const Ptr<Buffer>&)>;

/// The buffer that is meant, where a node allocates it.
std::optional<AllocatedBuffer> allocated_by(const Schedule& schedule, NodeId node,
                                            const IsMeant& is_meant) {
  const NodeId parent = schedule.at(node).parent;
  if (const auto* declared = schedule.as<DeclBuffer>(node)) {
    const auto* allocate = parent == no_node ? nullptr : schedule.as<Allocate>(parent);
    const bool is_its_memory = allocate && allocate->buffer_var.same_as(declared->buffer->data);
    if (is_its_memory && is_meant(declared->buffer)) return AllocatedBuffer{declared->buffer, node};
  }
  const auto* realize = schedule.as<BlockRealize>(node);
  if (!realize) return {};
  const auto found = std::ranges::find_if(realize->block->alloc_buffers, is_meant);
  if (found == realize->block->alloc_buffers.end()) return {};
  return AllocatedBuffer{*found, node};
}

}  // namespace

bool AllocatedBuffer::is_declared(const Schedule& schedule) const {
  return schedule.as<DeclBuffer>(owner) != nullptr;
}

std::optional<AllocatedBuffer> allocated_at(const Schedule& schedule, LoopRV loop,
                                            const BufferSelector& selector) {
  const auto* name = std::get_if<std::string>(&selector.value);
  const auto* given = std::get_if<Ptr<Buffer>>(&selector.value);
  const IsMeant is_meant = [&](const Ptr<Buffer>& buffer) {
    return (name && buffer->name == *name) || (given && buffer.same_as(*given));
  };
  const NodeId place = schedule.node(loop);
  std::vector<NodeId> open = {schedule.at(place).first_child};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (node == no_node) continue;
    if (auto found = allocated_by(schedule, node, is_meant)) return found;
    open.push_back(schedule.at(node).next);
    open.push_back(schedule.at(node).first_child);
  }
  for (NodeId node = schedule.at(place).parent; node != no_node; node = schedule.at(node).parent) {
    if (auto found = allocated_by(schedule, node, is_meant)) return found;
  }
  return {};
}

}  // namespace loopsmith
