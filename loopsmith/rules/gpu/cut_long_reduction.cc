// SPDX-License-Identifier: Apache-2.0
// Long reductions to few results: parts of them are computed at once, and combined by a second
// kernel. Of a product this is the split of k.
#include <algorithm>

#include "loopsmith/rules/gpu/bind_elements.h"
#include "loopsmith/rules/gpu/cut_long_reduction.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/reduce_columns.h"
#include "loopsmith/rules/gpu/reduce_rows.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith::gpu {
namespace {

/// With fewer results than this, and longer reductions, most of a device would have nothing to do.
constexpr std::int64_t few_results = 1024;
constexpr std::int64_t long_reduction = 16384;
/// As many blocks as hide the time that memory takes: eight for each of 128 multiprocessors.
constexpr std::int64_t max_parts = 1024;
constexpr std::int64_t least_part = 2048;

Subject of(BlockRV block) {
  return {.nests = {}, .shared = 0, .blocks = {block}, .loop = {}};
}

}  // namespace

bool cut_long_reduction(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const NestLoops loops = loops_of(schedule, block);
  if (loops.reduction.empty() || !schedule.get(block).init) return false;
  const auto results = count(schedule, loops.spatial), steps = count(schedule, loops.reduction);
  if (!results || !steps || *results > few_results || *steps < long_reduction) return false;
  const std::int64_t parts = power_of_two(*steps / least_part / 2 + 1, 2, max_parts);
  BlockRV partial{};
  const bool is_done = attempt(schedule, [&] {
    const LoopRV line = in_line(schedule, results_outside(schedule, block).reduction);
    const Factor count = context.number(schedule, parts, {parts / 2, parts * 2});
    const auto pieces = split(schedule, line, {count, infer});
    partial = rfactor(schedule, pieces[0], 0);
  });
  if (!is_done) return false;
  for (const BlockRV each : {partial, block}) {
    static_cast<void>(reduce_columns(schedule, of(each), context) ||
                      reduce_rows(schedule, of(each), context) ||
                      bind_elements(schedule, of(each), context));
  }
  return true;
}

}  // namespace loopsmith::gpu
