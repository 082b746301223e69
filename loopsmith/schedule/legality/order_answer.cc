// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/order_answer.h"

#include "loopsmith/ir/thread_axis.h"

namespace loopsmith {

Concurrency concurrency_of(const For& loop) {
  if (loop.kind == ForKind::vectorized) return Concurrency::in_lanes;
  const ThreadAxis axis = thread_axis_of(loop);
  if (is_block_axis(axis)) return Concurrency::in_blocks;
  return is_thread_axis(axis) ? Concurrency::in_block_threads : Concurrency::in_threads;
}

bool is_private_to_iteration(Concurrency how, MemoryScope scope) {
  switch (how) {
    case Concurrency::in_threads:
    case Concurrency::in_lanes: return !is_shared_by_threads(scope);
    case Concurrency::in_blocks: return is_of_each_thread(scope) || is_shared_by_threads(scope);
    case Concurrency::in_block_threads: return scope == MemoryScope::local || is_fragment(scope);
  }
  return false;
}

}  // namespace loopsmith
