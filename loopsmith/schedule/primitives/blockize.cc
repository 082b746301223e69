// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/blockize.h"

namespace loopsmith {

Planned<Blocking> plan_blockize(const Schedule& schedule, const BlockizeArguments& arguments) {
  return blocking_of(schedule, arguments.target, arguments.preserve_unit_iters);
}

BlockRV commit_blockize(Schedule& schedule, Blocking&& plan) {
  return insert_blocking(schedule, std::move(plan));
}

}  // namespace loopsmith
