// SPDX-License-Identifier: Apache-2.0
// Rules of one's own in generated spaces.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

/// A way to schedule a block, beside those of a generated space.
struct BlockRule {
  /// What tells it from others, where trials are kept; empty: they are not.
  std::string name;
  /// Takes steps, some of which may sample; false, before the first one, where it has none for the
  /// block. Throws a ScheduleError where it drew what is no schedule.
  std::function<bool(Schedule&, BlockRV)> apply;
};

/// Schedules a block by one of some rules, if a sample chooses one and it has steps for the block.
/// Each rule, and what the space has of its own, have the same chance.
bool apply_rules(Schedule& schedule, BlockRV block, const std::vector<BlockRule>& rules);

}  // namespace loopsmith::tune
