// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/substitute_scalar.h"

#include <algorithm>
#include <functional>

#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/rewrites/scalar_values.h"

namespace loopsmith {
namespace {

/// A buffer, and the body of what allocates it.
struct Allocated {
  Ptr<Buffer> buffer;
  NodeId body = no_node;
};

using IsMeant = std::function<bool(const Ptr<Buffer>&)>;

/// The buffer that is meant, where a node allocates it.
std::optional<Allocated> allocated_by(const Schedule& schedule, NodeId node,
                                      const IsMeant& is_meant) {
  const NodeId body = schedule.at(node).first_child, parent = schedule.at(node).parent;
  if (body == no_node) return {};
  if (const auto* declared = schedule.as<DeclBuffer>(node)) {
    const auto* allocate = parent == no_node ? nullptr : schedule.as<Allocate>(parent);
    const bool is_its_memory = allocate && allocate->buffer_var.same_as(declared->buffer->data);
    if (is_its_memory && is_meant(declared->buffer)) return Allocated{declared->buffer, body};
  }
  const auto* realize = schedule.as<BlockRealize>(node);
  if (!realize || realize->block->init) return {};
  const auto found = std::ranges::find_if(realize->block->alloc_buffers, is_meant);
  if (found == realize->block->alloc_buffers.end()) return {};
  return Allocated{*found, body};
}

/// The buffer that is meant, of those that are allocated around a loop, or in it.
std::optional<Allocated> allocated_at(const Schedule& schedule, LoopRV loop,
                                      const BufferSelector& selector) {
  const auto* name = std::get_if<std::string>(&selector.value);
  const auto* given = std::get_if<Ptr<Buffer>>(&selector.value);
  const IsMeant is_meant = [&](const Ptr<Buffer>& buffer) {
    return (name && buffer->name == *name) || (given && buffer.same_as(*given));
  };
  const NodeId place = schedule.node(loop);
  for (NodeId node = schedule.at(place).parent; node != no_node; node = schedule.at(node).parent) {
    if (auto found = allocated_by(schedule, node, is_meant)) return found;
  }
  std::vector<NodeId> open = {schedule.at(place).first_child};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (node == no_node) continue;
    if (auto found = allocated_by(schedule, node, is_meant)) return found;
    open.push_back(schedule.at(node).next);
    open.push_back(schedule.at(node).first_child);
  }
  return {};
}

/// True when the memory is used in another way than by loads and stores of the buffer.
bool has_other_uses(const Stmt& body, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* used = ref.as<Buffer>();
    const auto* call = ref.as<Call>();
    const auto* view = ref.as<MatchBufferRegion>();
    const bool is_another = used && used != buffer.get() && used->data.same_as(buffer->data);
    found = found || is_another || ref.same_as(buffer->data) ||
            (call && call->op == op("address_of") && call->args[0].is<BufferLoad>() &&
             call->args[0].as<BufferLoad>()->buffer.same_as(buffer)) ||
            (view && view->source->buffer.same_as(buffer));
    return !found;
  });
  return found;
}

}  // namespace

Planned<SubstituteScalarPlan> plan_substitute_scalar(const Schedule& schedule,
                                                     const SubstituteScalarArguments& arguments) {
  const auto found = allocated_at(schedule, arguments.loop, arguments.buffer);
  if (!found) {
    return Refusal{&buffer_is_allocated_around,
                   {to_argument(arguments.buffer), Argument(arguments.loop)}};
  }
  const auto& [buffer, body] = *found;
  const Argument subject(buffer->name);
  const Stmt& root = schedule.statement(body);
  if (has_other_uses(root, buffer)) return Refusal{&buffer_is_used_by_index, {subject}};
  const auto unknown = [&](const char* why) {
    return Refusal{&scalar_is_known, {subject, Argument(why)}};
  };
  const DataType type = buffer->dtype;
  if (!has_one_element(*buffer) || !type.is_index()) return unknown("it is not one integer");
  if (holds_jumps(root)) return unknown("a break, a continue or a return decides what runs");
  std::vector<Ptr<Var>> around;
  for (const LoopRV each : loops_around(schedule, body)) {
    around.push_back(schedule.get(each).loop_var);
  }
  KnownScalar known = with_known_values(root, buffer, around);
  if (known.is_in_block) return unknown("blocks use it");
  if (known.replaced == 0) {
    return unknown("it depends on values in memory or on a condition, or its terms may overflow");
  }
  return SubstituteScalarPlan{body, std::move(known.statement)};
}

Nothing commit_substitute_scalar(Schedule& schedule, SubstituteScalarPlan&& plan) {
  schedule.replace(plan.body, std::move(plan.statement));
  return {};
}

}  // namespace loopsmith
