// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/sibling_loops.h"

#include <utility>

#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::schedule_testing {

std::vector<std::vector<LoopRV>> neighbours(const Schedule& schedule,
                                            const std::vector<LoopRV>& loops) {
  std::vector<std::vector<LoopRV>> found;
  for (const LoopRV first : loops) {
    const TreeNode& node = schedule.at(schedule.node(first));
    if (node.next == no_node || !schedule.as<For>(node.next)) continue;
    LoopRV a = first, b = schedule.loop_at(node.next);
    found.push_back({a, b});
    while (true) {
      const NodeId in_a = only_child(schedule, schedule.node(a));
      const NodeId in_b = only_child(schedule, schedule.node(b));
      if (in_a == no_node || in_b == no_node) break;
      if (!schedule.as<For>(in_a) || !schedule.as<For>(in_b)) break;
      a = schedule.loop_at(in_a), b = schedule.loop_at(in_b);
      found.push_back({a, b});
    }
  }
  return found;
}

std::vector<std::vector<LoopRV>> siblings(Draw& draw, const Schedule& schedule,
                                          const std::vector<LoopRV>& loops) {
  std::vector<std::vector<LoopRV>> found;
  for (const LoopRV first : loops) {
    std::vector<LoopRV> group{first};
    NodeId node = schedule.at(schedule.node(first)).next;
    for (; node != no_node; node = schedule.at(node).next) {
      if (schedule.as<For>(node) && draw.chance(70)) group.push_back(schedule.loop_at(node));
    }
    if (group.size() > 1) found.push_back(std::move(group));
  }
  return found;
}

std::vector<Argument> sibling_names(const Schedule& schedule, NodeId node) {
  const auto parent = [&](NodeId id) { return schedule.at(id).parent; };
  while (node != no_node && parent(node) != no_node && !schedule.as<SeqStmt>(parent(node))) {
    node = parent(node);
  }
  std::vector<Argument> names;
  if (node == no_node || parent(node) == no_node) return names;
  for (NodeId each = schedule.at(parent(node)).first_child; each != no_node;
       each = schedule.at(each).next) {
    if (schedule.as<For>(each)) names.emplace_back(schedule.name(schedule.loop_at(each)));
    if (schedule.as<BlockRealize>(each)) names.emplace_back(schedule.name(schedule.block_at(each)));
  }
  return names;
}

}  // namespace loopsmith::schedule_testing
