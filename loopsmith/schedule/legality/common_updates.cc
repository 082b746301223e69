// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/common_updates.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/must_write_region.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {

std::vector<Ptr<Buffer>> updated_in_common(const Schedule& schedule, LoopRV loop) {
  const NodeId nest = whole_nest(schedule, schedule.node(loop));
  Dependences dependences(under_path_condition(schedule, nest), {});
  std::vector<Ptr<Buffer>> found;
  for (const CarriedDependence& one : dependences.carried(schedule.get(loop).loop_var)) {
    const auto is_it = [&](const Ptr<Buffer>& other) { return other.same_as(one.buffer); };
    if (one.is_reduction && one.buffer && std::ranges::none_of(found, is_it)) {
      found.push_back(one.buffer);
    }
  }
  return found;
}

bool is_set_before(const Schedule& schedule, LoopRV loop, NodeId owner, const Ptr<Buffer>& buffer) {
  for (NodeId node = schedule.node(loop); node != owner; node = schedule.at(node).parent) {
    const NodeId parent = schedule.at(node).parent;
    if (!schedule.as<SeqStmt>(parent)) continue;
    for (NodeId other = schedule.at(parent).first_child; other != node;
         other = schedule.at(other).next) {
      const auto written = must_write_region(schedule, other, buffer);
      if (written && covers(*written, full_region(buffer))) return true;
    }
  }
  return false;
}

}  // namespace loopsmith
