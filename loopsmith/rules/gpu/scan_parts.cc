// SPDX-License-Identifier: Apache-2.0
// Scans: prefix sums, running extremes, recurrences of first order. Parts of a fixed length run at
// once, after their totals have been added up.
#include <algorithm>

#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/scan_parts.h"
#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t threads_of_parts = 64;
/// Neighbouring threads read memory that is so far apart; long parts leave threads without work.
constexpr std::int64_t length_of_part = 128;
/// Shorter scans are done sooner by one thread.
constexpr std::int64_t short_scan = 1024;

}  // namespace

bool scan_parts(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(block));
  if (loops.size() != 1 || count(schedule, loops).value_or(short_scan) < short_scan) return false;
  const std::int64_t threads = std::min(threads_of_parts, context.device.threads_per_block);
  return attempt(schedule, [&] {
    look_up_nest(schedule, block);
    const Factor together = thread_count(schedule, context, threads);
    for (const LoopRV parts : parallel_scan(schedule, loops[0], length_of_part)) {
      if (schedule.get(parts).kind == ForKind::serial) {
        bind(schedule, add_unit_loop(schedule, parts), "threadIdx.x");
        continue;
      }
      const auto [blocks, inside] = split(schedule, parts, {infer, together}).take<2>();
      bind(schedule, blocks, "blockIdx.x");
      bind(schedule, inside, "threadIdx.x");
    }
  });
}

}  // namespace loopsmith::gpu
