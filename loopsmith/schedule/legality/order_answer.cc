// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/order_answer.h"

#include "loopsmith/ir/storage_scope.h"

namespace loopsmith {

Concurrency concurrency_of_axis(std::string_view thread_axis) {
  if (thread_axis.starts_with("blockIdx.")) return Concurrency::in_blocks;
  if (thread_axis.starts_with("threadIdx.")) return Concurrency::in_block_threads;
  return Concurrency::in_threads;
}

bool is_private_to_iteration(Concurrency how, std::string_view scope) {
  switch (how) {
    case Concurrency::in_threads:
    case Concurrency::in_lanes: return !is_shared_by_threads(scope);
    case Concurrency::in_blocks: return is_of_each_thread(scope) || is_shared_by_threads(scope);
    case Concurrency::in_block_threads: return scope == "local" || is_fragment(scope);
  }
  return false;
}

}  // namespace loopsmith
