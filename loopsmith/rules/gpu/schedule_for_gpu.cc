// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/schedule_for_gpu.h"

#include <algorithm>

#include "loopsmith/rules/gpu/bind_plain_loops.h"
#include "loopsmith/rules/gpu/bind_what_may.h"
#include "loopsmith/rules/gpu/inline_stages.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/rules.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// Draws nothing: each sample has its decision.
constexpr std::int64_t no_seed = 1;

bool is_left_alone(const PrimFunc& func) {
  return func.attrs.get_int("tir.is_scheduled", 0) != 0 || has_launch(func.body);
}

bool has_root_block(const PrimFunc& func) {
  const auto* root = func.body.as<BlockRealize>();
  return root && root->block->iter_vars.empty();
}

/// The last block at the top that is not bound and not among `asked`; none where there is none.
std::optional<BlockRV> next_block(const Schedule& schedule, const std::vector<BlockRV>& asked) {
  const NodeId function = schedule.root(*schedule.function_named());
  const Handles<BlockRV> blocks = child_blocks(schedule, schedule.at(function).first_child);
  const auto is_next = [&](BlockRV block) {
    return !gpu::is_bound(schedule, block) && std::ranges::find(asked, block) == asked.end();
  };
  const auto found = std::find_if(blocks.rbegin(), blocks.rend(), is_next);
  return found == blocks.rend() ? std::nullopt : std::optional(*found);
}

/// Asks a function of a rule about each block that is not bound, the last first.
void ask(Schedule& schedule, decltype(Rule::take) take, const RuleContext& context) {
  std::vector<BlockRV> asked;
  while (const auto block = next_block(schedule, asked)) {
    asked.push_back(*block);
    take(schedule, {.nests = {}, .shared = 0, .blocks = {*block}, .loop = {}}, context);
  }
}

}  // namespace

Schedule schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& device, bool leaves_holes) {
  Schedule schedule(func, no_seed);
  if (is_left_alone(*func)) return schedule;
  const CpuModel host;
  const RuleContext context{.machine = host, .leaves_holes = leaves_holes, .device = device};
  if (has_root_block(*func)) {
    gpu::inline_stages(schedule);
    for (const Rule& rule : gpu_rules()) ask(schedule, rule.take, context);
  }
  gpu::bind_plain_loops(schedule, context);
  return schedule;
}

void bind_rest_for_gpu(Schedule& schedule, const GpuLimits& device, bool leaves_holes) {
  const CpuModel host;
  const RuleContext context{.machine = host, .leaves_holes = leaves_holes, .device = device};
  if (has_root_block(*schedule.func())) ask(schedule, gpu::bind_what_may, context);
  gpu::bind_plain_loops(schedule, context);
}

}  // namespace loopsmith
