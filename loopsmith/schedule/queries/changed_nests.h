// SPDX-License-Identifier: Apache-2.0
// What a step may have changed: nests of loops, as a whole.
#pragma once
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Calls `visit` for each node in a nest that the snapshot does not have so, and outside of nests
/// for those that it does not have so; all without a snapshot. Stops at false.
template <class Visit>
void each_changed_node(const Schedule& schedule, const Schedule* snapshot, Visit&& visit) {
  struct Open {
    NodeId node;
    bool is_in_nest;
  };
  std::vector<Open> open;
  for (std::uint32_t i = 0; i < schedule.original()->functions.size(); ++i) {
    open.push_back({schedule.root(i), false});
  }
  while (!open.empty()) {
    const auto [node, is_in_nest] = open.back();
    open.pop_back();
    // What holds of a nest is a matter of all its loops.
    if (!is_in_nest && snapshot && schedule.is_same_in(*snapshot, node)) continue;
    if (!visit(node)) return;
    const bool is_nest = is_in_nest || schedule.as<For>(node);
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back({child, is_nest});
    }
  }
}

}  // namespace loopsmith
