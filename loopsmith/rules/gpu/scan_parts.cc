// SPDX-License-Identifier: Apache-2.0
// Scans: prefix sums, running extremes, recurrences of first order. Parts of a fixed length run at
// once, after their totals have been added up, which is a scan again. Tiles of parts go through
// shared memory.
#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/gpu/nest_steps.h"
#include "loopsmith/rules/gpu/scan_parts.h"
#include "loopsmith/schedule/primitives/add_unit_loop.h"
#include "loopsmith/schedule/primitives/loop_kinds.h"
#include "loopsmith/schedule/primitives/parallel_scan.h"
#include "loopsmith/schedule/primitives/relatives.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith::gpu {
namespace {

constexpr std::int64_t threads_of_parts = 256;
/// Of a long scan many parts run concurrently. Of others fewer parts, and so fewer kernels, take
/// less time.
constexpr std::int64_t length_of_part = 16, length_of_few = 128, long_scan = 1 << 20;
/// Of shared memory for a tile: several blocks are to fit a multiprocessor.
constexpr std::int64_t bytes_of_tile = 36 * 1024, elements_of_tile = 4096;
/// Shorter scans are done sooner by one thread.
constexpr std::int64_t short_scan = 1024, short_carry = 64;
/// How often scans are cut whose length only a call knows.
constexpr int depth_of_open_scan = 3;

/// What the tiles that a loop is over take of shared memory.
std::int64_t bytes_of_tiles(const Schedule& schedule, LoopRV tiles) {
  std::int64_t bytes = 0;
  pre_order_visit(schedule.get(tiles).body, [&](const Ref& ref) {
    const auto* allocate = ref.as<Allocate>();
    if (!allocate || !is_shared(memory_scope(*allocate->buffer_var))) return true;
    std::int64_t size = allocate->dtype.bytes();
    for (const Expr& extent : allocate->extents) size *= as_int(extent) ? *as_int(extent) : 1;
    // What is aligned has an element more in each row.
    const std::int64_t* row = as_int(allocate->extents.back());
    if (row && allocate->annotations.contains(alignments_key)) size += size / *row;
    bytes += size;
    return true;
  });
  return bytes;
}

class ScanCutter {
 public:
  ScanCutter(Schedule& schedule, Factor together, const GpuLimits& device)
      : schedule_(schedule),
        together_(together),
        bytes_(std::min(bytes_of_tile, device.shared_bytes_per_block)) {}

  /// What parts begin with is a scan of their totals, which is cut into parts again.
  void cut(LoopRV loop, int depth = 0) {
    const std::optional<std::int64_t> known = count(schedule_, {loop});
    const bool is_long = known ? *known >= long_scan : depth == 0;
    const std::int64_t length = is_long ? length_of_part : length_of_few;
    LoopRV carries{};
    if (!attempt(schedule_, [&] { carries = cut_into_tiles(loop, length); })) {
      const auto loops = parallel_scan(schedule_, loop, length);
      for (const LoopRV each : {loops[0], loops[2]}) bind_parts(each);
      carries = loops[1];
    }
    const std::optional<std::int64_t> starts = count(schedule_, {carries});
    const bool is_short = starts ? *starts <= short_carry : depth + 1 == depth_of_open_scan;
    if (!is_short && attempt(schedule_, [&] { cut(carries, depth + 1); })) return;
    bind(schedule_, add_unit_loop(schedule_, carries), "threadIdx.x");
  }

 private:
  /// Threads side by side load and store what lies side by side: what a tile of parts needs, and
  /// what it makes, goes through shared memory. Gives the loop over what parts begin with.
  LoopRV cut_into_tiles(LoopRV loop, std::int64_t length) {
    std::int64_t tile = elements_of_tile / length;
    const Schedule before = schedule_.snapshot();
    auto loops = parallel_scan(schedule_, loop, length, std::nullopt, tile);
    while (bytes_of_tiles(schedule_, loops[2]) > bytes_ && tile > 1) {
      tile /= 2;
      schedule_ = before.snapshot();
      loops = parallel_scan(schedule_, loop, length, std::nullopt, tile);
    }
    for (const LoopRV tiles : {loops[0], loops[2]}) {
      bind(schedule_, tiles, "blockIdx.x");
      for (const LoopRV inside : get_child_loops(schedule_, tiles)) {
        const bool is_of_parts = count(schedule_, {inside}) == tile;
        const LoopRV threads =
            is_of_parts ? inside : split(schedule_, inside, {infer, together_})[1];
        bind(schedule_, threads, "threadIdx.x");
      }
    }
    return loops[1];
  }

  void bind_parts(LoopRV parts) {
    const auto [blocks, inside] = split(schedule_, parts, {infer, together_}).take<2>();
    bind(schedule_, blocks, "blockIdx.x");
    bind(schedule_, inside, "threadIdx.x");
  }

  Schedule& schedule_;
  Factor together_;
  std::int64_t bytes_;
};

}  // namespace

bool scan_parts(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(block));
  if (loops.size() != 1 || count(schedule, loops).value_or(short_scan) < short_scan) return false;
  const std::int64_t threads = std::min(threads_of_parts, context.device.threads_per_block);
  return attempt(schedule, [&] {
    look_up_nest(schedule, block);
    const Factor together = thread_count(schedule, context, threads);
    ScanCutter(schedule, together, context.device).cut(loops[0]);
  });
}

}  // namespace loopsmith::gpu
