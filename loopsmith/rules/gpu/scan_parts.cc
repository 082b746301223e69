// SPDX-License-Identifier: Apache-2.0
// Scans: prefix sums, running extremes, recurrences of first order. Parts of a fixed length run at
// once, after their totals have been added up, which is a scan again.
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

constexpr std::int64_t threads_of_parts = 256;
/// Neighbouring threads read memory that is so far apart. Of a long scan all lines that the threads
/// of a multiprocessor read are to stay in its cache until they are read to the end: 64 bytes for
/// each of 2048 threads. Of others fewer parts, and so fewer kernels, take less time.
constexpr std::int64_t length_of_part = 16, length_of_few = 128, long_scan = 1 << 20;
/// Shorter scans are done sooner by one thread.
constexpr std::int64_t short_scan = 1024, short_carry = 64;

class ScanCutter {
 public:
  ScanCutter(Schedule& schedule, Factor together) : schedule_(schedule), together_(together) {}

  /// What parts begin with is a scan of their totals, which is cut into parts again.
  void cut(LoopRV loop) {
    const bool is_long = count(schedule_, {loop}).value_or(long_scan) >= long_scan;
    const std::int64_t length = is_long ? length_of_part : length_of_few;
    const auto [totals, carries, parts] = parallel_scan(schedule_, loop, length).take<3>();
    for (const LoopRV each : {totals, parts}) bind_parts(each);
    const bool is_short = count(schedule_, {carries}).value_or(short_scan) <= short_carry;
    if (!is_short && attempt(schedule_, [&] { cut(carries); })) return;
    bind(schedule_, add_unit_loop(schedule_, carries), "threadIdx.x");
  }

 private:
  void bind_parts(LoopRV parts) {
    const auto [blocks, inside] = split(schedule_, parts, {infer, together_}).take<2>();
    bind(schedule_, blocks, "blockIdx.x");
    bind(schedule_, inside, "threadIdx.x");
  }

  Schedule& schedule_;
  Factor together_;
};

}  // namespace

bool scan_parts(Schedule& schedule, const Subject& subject, const RuleContext& context) {
  const BlockRV block = subject.blocks[0];
  const Handles<LoopRV> loops = loops_around(schedule, schedule.node(block));
  if (loops.size() != 1 || count(schedule, loops).value_or(short_scan) < short_scan) return false;
  const std::int64_t threads = std::min(threads_of_parts, context.device.threads_per_block);
  return attempt(schedule, [&] {
    look_up_nest(schedule, block);
    ScanCutter(schedule, thread_count(schedule, context, threads)).cut(loops[0]);
  });
}

}  // namespace loopsmith::gpu
