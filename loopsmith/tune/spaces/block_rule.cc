// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/block_rule.h"

#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {

bool apply_rules(Schedule& schedule, BlockRV block, const std::vector<BlockRule>& rules) {
  if (rules.empty() || is_inlined(schedule, block)) return false;
  const auto which =
      static_cast<std::size_t>(choose_below(schedule, static_cast<std::int64_t>(rules.size()) + 1));
  return which < rules.size() && rules[which].apply(schedule, block);
}

}  // namespace loopsmith::tune
