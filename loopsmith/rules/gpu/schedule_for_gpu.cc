// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/gpu/schedule_for_gpu.h"

#include <algorithm>

#include "loopsmith/rules/gpu/launch_statements.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/rules.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace gpu {
namespace {

/// Wider tiles before smaller ones, kernels of several stages before those of one.
constexpr Rule table[] = {
    {"fuse_rows", "elements of rows, made of what was reduced of the same rows", fuse_rows},
    {"tile_product", "sums of products whose operands each lack an axis of the result",
     tile_product},
    {"cut_long_reduction", "long reductions to few results", cut_long_reduction},
    {"reduce_columns", "reductions across what lies side by side", reduce_columns},
    {"reduce_rows", "reductions along what lies side by side", reduce_rows},
    {"transpose_tiles", "elements read across what they are written along", transpose_tiles},
    {"bind_elements", "points that are independent of each other", bind_elements},
    {"scan_parts", "loops of which each iteration needs the value of the one before", scan_parts},
    {"bind_what_may", "all else", bind_what_may},
};

/// The last block that is not bound and that the rule has not left; none where there is none.
std::optional<BlockRV> next_block(const Schedule& schedule, BlockRV root,
                                  const std::vector<BlockRV>& left) {
  const Handles<BlockRV> blocks = child_blocks(schedule, schedule.node(root));
  const auto is_next = [&](BlockRV block) {
    return !is_bound(schedule, block) && std::ranges::find(left, block) == left.end();
  };
  const auto found = std::find_if(blocks.rbegin(), blocks.rend(), is_next);
  return found == blocks.rend() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::span<const Rule> rules() {
  return table;
}

}  // namespace gpu

Schedule schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& limits) {
  Schedule schedule(func, /*seed=*/1);
  gpu::inline_stages(schedule);
  const BlockRV root = get_block(schedule, "root");
  for (const gpu::Rule& rule : gpu::rules()) {
    std::vector<BlockRV> left;
    while (const auto block = gpu::next_block(schedule, root, left)) {
      left.push_back(*block);
      rule.apply(schedule, *block, limits);
    }
  }
  return schedule;
}

Ptr<PrimFunc> default_schedule_for_gpu(const Ptr<PrimFunc>& func, const GpuLimits& limits) {
  const auto* realize = func->body.as<BlockRealize>();
  const bool has_root = realize && realize->block->iter_vars.empty();
  const bool is_scheduled = func->attrs.get_int("tir.is_scheduled", 0) != 0;
  if (!has_root || is_scheduled || has_launch(func->body)) return func;
  return gpu::launch_statements(schedule_for_gpu(func, limits).func());
}

}  // namespace loopsmith
