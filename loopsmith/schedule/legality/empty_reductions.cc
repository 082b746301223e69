// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/empty_reductions.h"

#include <algorithm>

#include "loopsmith/arith/initial_nests.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {

std::optional<Refusal> refuse_empty_reductions(const Schedule& schedule,
                                               std::span<const LoopRV> loops) {
  for (const BlockRV block : child_blocks(schedule, schedule.node(loops.back()))) {
    const BlockRealize& realize = schedule.realize(block);
    const auto is_reduction_loop = [&](LoopRV loop) {
      return arith::is_reduction_loop(realize, schedule.get(loop).loop_var);
    };
    if (!realize.block->init || std::ranges::none_of(loops, is_reduction_loop)) continue;
    for (const LoopRV around : loops_around(schedule, schedule.node(block))) {
      const std::int64_t* extent = as_int(schedule.get(around).extent);
      if (is_reduction_loop(around) && (!extent || *extent < 1)) {
        return Refusal{&reductions_have_elements, {Argument(around), Argument(block)}};
      }
    }
  }
  return {};
}

}  // namespace loopsmith
