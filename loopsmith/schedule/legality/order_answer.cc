// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/order_answer.h"

#include "loopsmith/ir/storage_scope.h"

namespace loopsmith {

AtOnce how_bound(std::string_view thread_axis) {
  if (thread_axis.starts_with("blockIdx.")) return AtOnce::in_blocks;
  if (thread_axis.starts_with("threadIdx.")) return AtOnce::in_block_threads;
  return AtOnce::in_threads;
}

bool is_of_one(AtOnce how, std::string_view scope) {
  switch (how) {
    case AtOnce::in_threads:
    case AtOnce::in_lanes: return !is_shared_by_threads(scope);
    case AtOnce::in_blocks: return scope == "local" || is_shared_by_threads(scope);
    case AtOnce::in_block_threads: return scope == "local";
  }
  return false;
}

}  // namespace loopsmith
