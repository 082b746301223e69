// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/spaces/generated_gpu.h"

#include <array>
#include <string>

#include "loopsmith/rules/gpu/schedule_for_gpu.h"
#include "loopsmith/schedule/legality/obligations.h"
#include "loopsmith/schedule/primitives/cache_read.h"
#include "loopsmith/schedule/primitives/cache_write.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/primitives/reverse_compute_at.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/tune/spaces/block_axes.h"
#include "loopsmith/tune/spaces/choices.h"

namespace loopsmith::tune {
namespace {

using Loops = std::vector<LoopRV>;

void bind_to(Schedule& schedule, LoopRV loop, const char* axis) {
  bind.attempt(schedule, loop, axis);
}

ExprRV sample_threads(Schedule& schedule) {
  return sample(schedule, {32, 64, 128, 256, 512});
}

/// Gives each iteration of a loop a thread.
void bind_line(Schedule& schedule, LoopRV loop) {
  const ExprRV threads = sample_threads(schedule);
  const auto parts = split.attempt(schedule, loop, {infer, threads});
  if (!parts) return;
  bind_to(schedule, (*parts)[0], "blockIdx.x");
  bind_to(schedule, (*parts)[1], "threadIdx.x");
}

/// Gives each thread one element, or some that lie as far apart as there are threads.
void bind_elements(Schedule& schedule, const Loops& loops) {
  const auto whole = fused(schedule, loops);
  if (!whole) return;
  const ExprRV each = sample(schedule, {1, 1, 2, 4});
  const ExprRV threads = sample_threads(schedule);
  const auto parts = split.attempt(schedule, *whole, {infer, each, threads});
  if (!parts) return;
  bind_to(schedule, (*parts)[0], "blockIdx.x");
  bind_to(schedule, (*parts)[2], "threadIdx.x");
}

Loops joined(Loops first, const Loops& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Lets one thread reduce an element.
void reduce_by_one(Schedule& schedule, const Loops& spatial, const Loops& reduction) {
  reorder.attempt(schedule, joined(spatial, reduction));
  bind_elements(schedule, spatial);
}

/// Lets the threads of a block reduce parts of an element, then these among them.
void reduce_by_threads(Schedule& schedule, const Loops& spatial, const Loops& reduction) {
  if (spatial.size() + reduction.size() > 1) {
    reorder.attempt(schedule, joined(spatial, reduction));
  }
  if (const auto rows = fused(schedule, spatial)) bind_to(schedule, *rows, "blockIdx.x");
  if (const auto whole = fused(schedule, reduction)) {
    const ExprRV parts = sample(schedule, {8, 16, 32, 64, 128, 256});
    bind_to(schedule, split(schedule, *whole, {infer, parts})[1], "threadIdx.x");
  }
}

/// Copies what a block of threads reads of an operand in one step, together.
void share(Schedule& schedule, BlockRV block, std::int64_t operand, LoopRV step,
           const std::array<ExprRV, 2>& threads) {
  const auto copy = cache_read.attempt(schedule, block, operand, "shared");
  if (!copy) return;
  // The loops inside the steps are the tile's own.
  const std::size_t shared = get_loops(schedule, block).size() - 3;
  compute_at.attempt(schedule, *copy, step);
  const Handles<LoopRV> loops = get_loops(schedule, *copy);
  if (loops.size() <= shared) return;
  const auto whole =
      fused(schedule, {loops.begin() + static_cast<std::ptrdiff_t>(shared), loops.end()});
  if (!whole) return;
  const ExprRV lanes = sample(schedule, {1, 1, 2, 4});
  const auto parts = split(schedule, *whole, {infer, threads[0], threads[1], lanes});
  bind_to(schedule, parts[1], "threadIdx.y");
  bind_to(schedule, parts[2], "threadIdx.x");
  if (schedule.get(lanes) > 1) vectorize.attempt(schedule, parts[3]);
}

void tile(Schedule& schedule, BlockRV block, const Loops& spatial, const Loops& reduction) {
  const auto rows = fused(schedule, {spatial.begin(), spatial.end() - 1});
  const auto steps = fused(schedule, reduction);
  if (!rows || !steps) return;
  const auto sample_side = [&] { return sample(schedule, {4, 8, 16, 32}); };
  const auto sample_results = [&] { return sample(schedule, {1, 2, 4, 8}); };
  const ExprRV height = sample_side(), width = sample_side();
  const auto [by, iy, ty] = split(schedule, *rows, {infer, sample_results(), height}).take<3>();
  const auto [bx, ix, tx] =
      split(schedule, spatial.back(), {infer, sample_results(), width}).take<3>();
  const ExprRV depth = sample(schedule, {4, 8, 16, 32});
  const auto [step, k] = split(schedule, *steps, {infer, depth}).take<2>();
  const Loops order{by, bx, ty, tx, step, k, iy, ix};
  if (!reorder.attempt(schedule, order)) {
    bind_elements(schedule, {by});
    return;
  }
  bind_to(schedule, by, "blockIdx.y");
  bind_to(schedule, bx, "blockIdx.x");
  bind_to(schedule, ty, "threadIdx.y");
  bind_to(schedule, tx, "threadIdx.x");
  if (const auto result = cache_write.attempt(schedule, block, 0, "local")) {
    reverse_compute_at.attempt(schedule, *result, tx);
  }
  const auto operands = static_cast<std::int64_t>(schedule.get(block).reads.size());
  for (std::int64_t operand = 0; operand < operands; ++operand) {
    if (happens(schedule, 2, 3)) share(schedule, block, operand, step, {height, width});
  }
  for (const LoopRV loop : {iy, ix}) {
    if (happens(schedule, 1, 2)) unroll.attempt(schedule, loop);
  }
}

void bind_block(Schedule& schedule, BlockRV block) {
  if (is_inlined(schedule, block)) return;
  const Handles<LoopRV> loops = get_loops(schedule, block);
  Loops spatial, reduction;
  bool is_mixed = false;
  for (const LoopRV loop : loops) {
    const AxisKind kind = axis_kind(schedule, block, loop);
    is_mixed = is_mixed || kind == AxisKind::mixed;
    if (kind == AxisKind::spatial) spatial.push_back(loop);
    if (kind == AxisKind::reduction) reduction.push_back(loop);
  }
  if (!reduces(schedule, block)) {
    bind_elements(schedule, loops);
  } else if (is_mixed || reduction.empty()) {
    if (!loops.empty()) bind_line(schedule, loops[0]);
  } else if (spatial.size() >= 2 && happens(schedule, 2, 3)) {
    tile(schedule, block, spatial, reduction);
  } else if (happens(schedule, 1, 2)) {
    reduce_by_threads(schedule, spatial, reduction);
  } else if (!spatial.empty()) {
    reduce_by_one(schedule, spatial, reduction);
  }
}

}  // namespace

void generated_space_for_gpu(Schedule& schedule) {
  generated_space_for_gpu_with(schedule, {});
}

void generated_space_for_gpu_with(Schedule& schedule, const std::vector<BlockRule>& rules) {
  for (const LoopRV loop : get_child_loops(schedule)) {
    if (get_child_blocks(schedule, loop).empty()) bind_line(schedule, loop);
  }
  if (const auto root = get_block.attempt(schedule, "root")) {
    const Handles<BlockRV> blocks = get_child_blocks(schedule, *root);
    for (std::size_t i = blocks.size(); i-- > 0;) {
      if (!apply_rules(schedule, blocks[i], rules)) bind_block(schedule, blocks[i]);
    }
  }
  bind_rest_for_gpu(schedule, gpu_limits(Target("opencl")), true);
  require_no_obligations(schedule, "tune");
}

}  // namespace loopsmith::tune
