// SPDX-License-Identifier: Apache-2.0
// Anything at all: the outermost loop that dependences let run concurrently, and another inside of
// it; one thread where there is none.
#include <algorithm>

#include "loopsmith/rules/gpu/bind_what_may.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith::gpu {
bool bind_what_may(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const std::int64_t threads = std::min(threads_of_loop, context.device.threads_per_block);
  look_up_nest(schedule, block);
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(block));
  for (const LoopRV loop : loops) {
    // Of a loop that may not be bound, the parts may not either.
    if (!bind.can_apply(schedule, {loop, "threadIdx.x"})) continue;
    const bool is_split = attempt(schedule, [&] {
      const Factor count = thread_count(schedule, context, threads);
      const auto parts = split(schedule, loop, {infer, count});
      bind(schedule, parts[0], "blockIdx.x");
      bind(schedule, parts[1], "threadIdx.x");
    });
    if (is_split) return true;
  }
  // Loops around kernels are the host's.
  const auto alone = std::ranges::find_if(
      loops, [&](LoopRV loop) { return !has_launch(schedule.statement(schedule.node(loop))); });
  const LoopRV once =
      alone == loops.end() ? add_unit_loop(schedule, block) : add_unit_loop(schedule, *alone);
  bind(schedule, once, "threadIdx.x");
  return true;
}

}  // namespace loopsmith::gpu
