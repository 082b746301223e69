// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/anti_dependences.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/queries/path_condition.h"

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

bool accesses_earlier(const Schedule& schedule, const Place& place, BlockRV writer,
                      const Buffer* buffer, std::span<const LoopRV> loops) {
  if (loops.empty()) return false;
  const NodeId node = schedule.node(writer);
  const NodeId nest = whole_nest(schedule, node);
  const Statements touching = statements_at(schedule, place);
  const Statements writing = statements_at(schedule, {node});
  Dependences dependences(under_path_condition(schedule, nest));
  return std::ranges::any_of(loops, [&](LoopRV loop) {
    const auto carried = dependences.carried(schedule.get(loop).loop_var);
    return std::ranges::any_of(carried, [&](const CarriedDependence& each) {
      return (!each.buffer || each.buffer->data.same_as(buffer->data)) && each.sink_writes &&
             touching.contains(each.source.get()) && writing.contains(each.sink.get());
    });
  });
}

}  // namespace loopsmith
