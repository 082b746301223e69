// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/expand_scalar.h"

#include <algorithm>

#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

struct OwnedBuffer {
  NodeId owner = no_node;
  Ptr<Buffer> buffer;
};

/// The buffer that is meant, of those that blocks around the loop allocate.
std::optional<OwnedBuffer> selected_around(const Schedule& schedule, LoopRV loop,
                                           const BufferSelector& selector) {
  const auto* name = std::get_if<std::string>(&selector.value);
  const auto* given = std::get_if<Ptr<Buffer>>(&selector.value);
  NodeId node = schedule.at(schedule.node(loop)).parent;
  for (; node != no_node; node = schedule.at(node).parent) {
    const auto* realize = schedule.as<BlockRealize>(node);
    if (!realize) continue;
    for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
      if ((name && buffer->name == *name) || (given && buffer.same_as(*given))) {
        return OwnedBuffer{node, buffer};
      }
    }
  }
  return {};
}

}  // namespace

Planned<ExpandScalarPlan> plan_expand_scalar(const Schedule& schedule,
                                             const ExpandScalarArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const auto owned = selected_around(schedule, arguments.loop, arguments.buffer);
  if (!owned) {
    return Refusal{&buffer_is_allocated_around, {to_argument(arguments.buffer), handle}};
  }
  const Argument buffer{Ref(owned->buffer)};
  const BufferAccesses uses = uses_of(schedule, owned->owner, owned->buffer);
  if (!uses.by_indices_alone() || uses.by_vector) {
    return Refusal{&buffer_is_used_by_index, {buffer}};
  }
  const NodeId loop = schedule.node(arguments.loop);
  std::vector<NodeId> inside = uses.nodes;
  std::erase(inside, owned->owner);
  const Refusal elsewhere{&uses_are_in_the_loop, {buffer, handle}};
  const auto is_outside = [&](NodeId use) { return !is_inside(schedule, use, loop); };
  if (std::ranges::any_of(inside, is_outside)) return elsewhere;
  auto by_block = uses_by_block(schedule, arguments.loop, inside, owned->buffer);
  if (!by_block) return elsewhere;
  ExpandScalarPlan plan{arguments.loop, owned->owner, owned->buffer, *std::move(by_block)};
  const For& node = schedule.get(arguments.loop);
  for (const Expr* bound : {&node.extent, &node.min, &node.step}) {
    if (!is_known_at(schedule, owned->owner, loop, *bound)) {
      const std::string place = "where buffer " + owned->buffer->name + " is allocated";
      return Refusal{&bounds_are_known, {handle, Argument(place)}};
    }
  }
  return plan;
}

Nothing commit_expand_scalar(Schedule& schedule, ExpandScalarPlan&& plan) {
  const Ptr<Buffer> to =
      with_iterations(*plan.buffer, plan.buffer->name, schedule.get(plan.loop).extent);
  add_iteration_dimension(schedule, plan.loop, plan.uses, plan.buffer, to);
  replace_definition(schedule, plan.owner, plan.buffer, to);
  return {};
}

}  // namespace loopsmith
