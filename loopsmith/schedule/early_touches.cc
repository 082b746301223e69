// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/early_touches.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/buffer_uses.h"
#include "loopsmith/schedule/known_around.h"
#include "loopsmith/schedule/nest_facts.h"

namespace loopsmith {
namespace {

using Statements = std::unordered_set<const Object*>;

Statements statements_at(const Schedule& schedule, const Place& place) {
  const Object& node = *schedule.at(place.node).object;
  Ref root(&node);
  if (place.slot != no_node) root = *statement_in(node, place.slot);
  Statements found;
  pre_order_visit(root, [&](const Ref& ref) {
    if (is_expr(*ref.get())) return false;
    found.insert(ref.get());
    return true;
  });
  return found;
}

}  // namespace

bool is_born(const Schedule& schedule, const BufferUse& write, const ScopeUses& uses) {
  const NodeId scope = scope_of(schedule, write.place.node);
  const auto is_other = [&](const BufferUse& use) {
    return use.place.node != write.place.node || use.place.slot != write.place.slot;
  };
  return !write.by_view && owner_of(schedule, scope, Ptr<Buffer>(write.buffer)) == scope &&
         std::ranges::none_of(uses.all, [&](const BufferUse& use) {
           return use.is_write && use.buffer == write.buffer && is_other(use);
         });
}

bool touches_before(const Schedule& schedule, const Place& place, BlockRV writer,
                    const Buffer* buffer, std::span<const LoopRV> loops) {
  if (loops.empty()) return false;
  const NodeId node = schedule.node(writer);
  const NodeId nest = whole_nest(schedule, node);
  const Statements touching = statements_at(schedule, place);
  const Statements writing = statements_at(schedule, {node});
  Dependences dependences(under_known_conditions(schedule, nest));
  return std::ranges::any_of(loops, [&](LoopRV loop) {
    const auto carried = dependences.carried(schedule.get(loop).loop_var);
    return std::ranges::any_of(carried, [&](const CarriedDependence& each) {
      return (!each.buffer || each.buffer->data.same_as(buffer->data)) && each.sink_writes &&
             touching.contains(each.source.get()) && writing.contains(each.sink.get());
    });
  });
}

bool touches_before(const Schedule& schedule, const Place& place, BlockRV writer,
                    const Buffer* buffer, const Place& apart, const ScopeUses& uses) {
  const Place here{schedule.node(writer)};
  if (shares_loops_with(schedule, place, here, apart)) return false;
  if (is_born(schedule, {.buffer = buffer, .place = here}, uses)) return false;
  std::vector<LoopRV> left;
  NodeId common = common_ancestor(schedule, place.node, here.node);
  for (; !is_inside(schedule, apart, common); common = schedule.at(common).parent) {
    if (schedule.as<While>(common)) return true;
    if (schedule.as<For>(common)) left.push_back(schedule.loop_at(common));
  }
  return touches_before(schedule, place, writer, buffer, left);
}

}  // namespace loopsmith
