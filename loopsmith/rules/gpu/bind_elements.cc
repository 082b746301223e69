// SPDX-License-Identifier: Apache-2.0
// All points of a nest in one line, shared out to blocks of threads.
#include <algorithm>

#include "loopsmith/rules/gpu/bind_elements.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t threads_of_elements = 256;

/// How many neighbours a thread takes: as many as one instruction loads and stores, where there are
/// enough of them for all threads and all reads and writes run along the last loop.
std::int64_t neighbours_of_thread(const Schedule& schedule, BlockRV block, const NestLoops& loops) {
  constexpr std::int64_t bytes_at_once = 16, many = 65536;
  const Block& body = schedule.get(block);
  const auto points = count(schedule, loops.spatial);
  const auto length = count(schedule, {loops.spatial.back()});
  if (!loops.reduction.empty() || body.init || !points || *points < many) return 1;
  const Ptr<Var> axis = axis_of(schedule, block, loops.spatial.back());
  if (!axis.get() || !body.body.is<BufferStore>()) return 1;
  std::int64_t bytes = 1;
  for (const auto* regions : {&body.reads, &body.writes}) {
    for (const Ptr<BufferRegion>& region : *regions) {
      bytes = std::max<std::int64_t>(bytes, region->buffer->dtype.bytes());
      if (!uses(*region, axis)) continue;
      if (region->region.empty() || !region->region.back()->min.same_as(axis)) return 1;
    }
  }
  const std::int64_t lanes = bytes_at_once / bytes;
  return lanes > 1 && *length % lanes == 0 ? lanes : 1;
}

}  // namespace

bool bind_elements(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops nest = loops_of(schedule, block);
  if (nest.spatial.empty()) return false;
  const std::int64_t threads = std::min(threads_of_elements, context.device.threads_per_block);
  const std::int64_t lanes = neighbours_of_thread(schedule, block, nest);
  return attempt(schedule, [&] {
    const LoopRV line = in_line(schedule, results_outside(schedule, block).spatial);
    std::vector<SplitFactor> factors{infer, thread_count(schedule, context, threads)};
    if (lanes > 1) factors.emplace_back(lanes);
    const auto parts = split(schedule, line, factors);
    bind(schedule, parts[0], "blockIdx.x");
    bind(schedule, parts[1], "threadIdx.x");
    if (lanes > 1) vectorize(schedule, parts[2]);
    if (schedule.get(block).init) keep_results(schedule, block, parts[1]);
  });
}

}  // namespace loopsmith::gpu
