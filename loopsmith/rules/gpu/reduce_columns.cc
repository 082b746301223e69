// SPDX-License-Identifier: Apache-2.0
// Reductions across what lies side by side in memory: neighbours in x read neighbours, and threads
// in y share the reduction.
#include <algorithm>

#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/reduce_columns.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t columns_of_block = 32;
constexpr std::int64_t threads_of_column = 8;
constexpr std::int64_t short_column = 32;

/// True when the read that uses most axes has a spatial one in its last index, and no other.
bool lies_along_columns(const Schedule& schedule, BlockRV block, const NestLoops& loops) {
  const auto axes_in = [&](const BufferRegion& read) {
    return std::ranges::count_if(schedule.get(block).iter_vars,
                                 [&](const auto& axis) { return uses(read, axis->var); });
  };
  const auto& reads = schedule.get(block).reads;
  const auto largest = std::ranges::max_element(
      reads, {}, [&](const Ptr<BufferRegion>& read) { return axes_in(*read); });
  if (largest == reads.end() || (*largest)->region.empty()) return false;
  BufferRegion last = **largest;
  last.region = {last.region.back()};
  const auto is_in_last = [&](LoopRV loop) {
    const Ptr<Var> axis = axis_of(schedule, block, loop);
    return axis.get() && uses(last, axis);
  };
  return std::ranges::any_of(loops.spatial, is_in_last) &&
         std::ranges::none_of(loops.reduction, is_in_last);
}

}  // namespace

bool reduce_columns(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops nest = loops_of(schedule, block);
  if (!schedule.get(block).init || nest.reduction.empty() || nest.spatial.empty()) return false;
  const auto length = count(schedule, nest.reduction);
  if (length.value_or(short_column) < short_column) return false;
  if (!lies_along_columns(schedule, block, nest)) return false;
  const std::int64_t columns = std::min(columns_of_block, context.device.threads_per_block);
  const std::int64_t rows = std::max<std::int64_t>(
      std::min(threads_of_column, context.device.threads_per_block / columns), 1);
  return attempt(schedule, [&] {
    const NestLoops loops = results_outside(schedule, block);
    const LoopRV results = in_line(schedule, loops.spatial);
    const Factor sharers = thread_count(schedule, context, rows, columns);
    const auto parts = split(schedule, in_line(schedule, loops.reduction), {infer, sharers});
    const auto [blocks, inside] = split(schedule, results, {infer, columns}).take<2>();
    bind(schedule, blocks, "blockIdx.x");
    bind(schedule, inside, "threadIdx.x");
    bind(schedule, parts[1], "threadIdx.y");
    take_in_reader(schedule, block, inside);
  });
}

}  // namespace loopsmith::gpu
