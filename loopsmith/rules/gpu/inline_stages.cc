// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/rules/gpu/inline_stages.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

/// Whether what a block computes costs little enough to be computed for each reader again.
bool is_worth_it(const Schedule& schedule, BlockRV block) {
  const Handles<BlockRV> readers = consumers_of(schedule, block);
  const auto reduces = [&](BlockRV reader) { return schedule.get(reader).init.defined(); };
  if (std::ranges::none_of(readers, reduces)) return true;
  const Ptr<Buffer>& made = schedule.get(block).writes[0]->buffer;
  return readers.size() == 1 && reads_once(schedule, readers[0], made);
}

}  // namespace

void inline_stages(Schedule& schedule) {
  const NodeId function = schedule.root(*schedule.function_named());
  for (const BlockRV block : child_blocks(schedule, schedule.at(function).first_child)) {
    if (schedule.refuse(block)) continue;  // A step put others in its place.
    const bool stays = schedule.get(block).init || schedule.get(block).writes.size() != 1 ||
                       is_output_block(schedule, block);
    if (stays || !is_worth_it(schedule, block)) continue;
    attempt(schedule, [&] { compute_inline(schedule, look_up(schedule, block)); });
  }
}

}  // namespace loopsmith::gpu
