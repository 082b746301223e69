// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/blockize.h"

namespace loopsmith {

Planned<EnclosingBlock> plan_blockize(const Schedule& schedule,
                                      const BlockizeArguments& arguments) {
  return enclosing_block_of(schedule, arguments.target, arguments.preserve_unit_iters);
}

BlockRV commit_blockize(Schedule& schedule, EnclosingBlock&& plan) {
  return insert_enclosing_block(schedule, std::move(plan));
}

}  // namespace loopsmith
