// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/expand_scalar.h"

#include <algorithm>

#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

/// The block around a node, or the function.
NodeId scope_around(const Schedule& schedule, NodeId node) {
  do {
    node = schedule.at(node).parent;
  } while (!schedule.as<BlockRealize>(node) && !schedule.as<PrimFunc>(node));
  return node;
}

/// Puts what a declaration is for in the place of the statement that allocates its memory.
void drop_declaration(Schedule& schedule, NodeId declaration) {
  const Stmt body = schedule.as<DeclBuffer>(declaration)->body;
  schedule.replace(schedule.at(declaration).parent, body);
}

}  // namespace

Planned<ExpandScalarPlan> plan_expand_scalar(const Schedule& schedule,
                                             const ExpandScalarArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const NodeId loop = schedule.node(arguments.loop);
  const auto allocated = allocated_at(schedule, arguments.loop, arguments.buffer);
  const bool is_declared = allocated && allocated->is_declared(schedule);
  const bool is_in_loop = allocated && is_inside(schedule, allocated->owner, loop);
  if (!allocated || (is_in_loop && !is_declared)) {
    return Refusal{&buffer_is_allocated_around, {to_argument(arguments.buffer), handle}};
  }
  const Argument buffer{Ref(allocated->buffer)};
  const BufferAccesses uses = uses_of(schedule, allocated->owner, allocated->buffer);
  if (!uses.by_indices_alone() || uses.by_vector) {
    return Refusal{&buffer_is_used_by_index, {buffer}};
  }
  std::vector<NodeId> inside = uses.nodes;
  if (!is_in_loop) std::erase(inside, allocated->owner);
  const Refusal elsewhere{&uses_are_in_the_loop, {buffer, handle}};
  const auto is_outside = [&](NodeId use) { return !is_inside(schedule, use, loop); };
  if (std::ranges::any_of(inside, is_outside)) return elsewhere;
  auto by_block = uses_by_block(schedule, arguments.loop, inside, allocated->buffer);
  if (!by_block) return elsewhere;
  ExpandScalarPlan plan{arguments.loop, *allocated, *std::move(by_block)};
  const NodeId scope = is_declared ? scope_around(schedule, loop) : allocated->owner;
  const For& node = schedule.get(arguments.loop);
  for (const Expr* bound : {&node.extent, &node.min, &node.step}) {
    if (!is_known_at(schedule, scope, loop, *bound)) {
      const std::string place = "where buffer " + allocated->buffer->name + " is allocated";
      return Refusal{&bounds_are_known, {handle, Argument(place)}};
    }
  }
  return plan;
}

Nothing commit_expand_scalar(Schedule& schedule, ExpandScalarPlan&& plan) {
  const auto& [from, owner] = plan.allocated;
  const Ptr<Buffer> to = with_iterations(*from, from->name, schedule.get(plan.loop).extent);
  add_iteration_dimension(schedule, plan.loop, plan.uses, from, to);
  if (!plan.allocated.is_declared(schedule)) {
    replace_definition(schedule, owner, from, to);
    return {};
  }
  drop_declaration(schedule, owner);
  allocate_in(schedule, block_around_or_root(schedule, schedule.node(plan.loop)), to);
  return {};
}

}  // namespace loopsmith
