// SPDX-License-Identifier: Apache-2.0
// Reductions along what lies side by side in memory: rows, and a matrix times a vector.
#include <algorithm>

#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/reduce_rows.h"
#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith::gpu {
namespace {

/// Threads of a block; a row has as many as a warp, or all of them.
constexpr std::int64_t threads_of_rows = 256;
constexpr std::int64_t threads_of_row = 32;
/// Shorter reductions are done sooner by one thread than shared out.
constexpr std::int64_t short_row = 32;
/// From here on a row has work for a whole block.
constexpr std::int64_t long_row = 2048;

}  // namespace

bool reduce_rows(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops nest = loops_of(schedule, block);
  if (!schedule.get(block).init || nest.reduction.empty()) return false;
  const auto rows = count(schedule, nest.spatial), length = count(schedule, nest.reduction);
  if (length.value_or(long_row) < short_row) return false;
  // Many results of unknown length have work for all threads without sharing.
  const bool is_long = length.value_or(long_row) >= long_row;
  const std::int64_t all = std::min(threads_of_rows, context.device.threads_per_block);
  const std::int64_t of_row = is_long ? all : std::min(threads_of_row, all);
  const std::int64_t rows_of_block =
      is_long ? 1 : power_of_two(rows.value_or(all), 1, std::max<std::int64_t>(all / of_row, 1));
  return attempt(schedule, [&] {
    const NestLoops loops = results_outside(schedule, block);
    const LoopRV results = loops.spatial.empty() ? add_unit_loop(schedule, loops.reduction[0])
                                                 : in_line(schedule, loops.spatial);
    const Factor sharers = thread_count(schedule, context, of_row, rows_of_block);
    const auto parts = split(schedule, in_line(schedule, loops.reduction), {infer, sharers});
    LoopRV row = results;
    if (rows_of_block > 1) {
      const auto [blocks, inside] = split(schedule, results, {infer, rows_of_block}).take<2>();
      bind(schedule, blocks, "blockIdx.x");
      bind(schedule, inside, "threadIdx.y");
      row = inside;
    } else {
      bind(schedule, results, "blockIdx.x");
    }
    bind(schedule, parts[1], "threadIdx.x");
    take_in_reader(schedule, block, row);
  });
}

}  // namespace loopsmith::gpu
