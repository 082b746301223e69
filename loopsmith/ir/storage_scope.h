// SPDX-License-Identifier: Apache-2.0
// Who sees the memory of a storage scope.
#pragma once
#include <string_view>

namespace loopsmith {

/// True for memory that the threads of a block, or of a warp, have in common.
inline bool is_shared_by_threads(std::string_view scope) {
  return scope.starts_with("shared") || scope == "warp";
}

/// True when each iteration of a loop over `thread_axis` has memory of that scope for itself.
inline bool is_of_one_thread(std::string_view thread_axis, std::string_view scope) {
  if (thread_axis.starts_with("threadIdx.")) return scope == "local";
  return !thread_axis.starts_with("blockIdx.") || scope == "local" || is_shared_by_threads(scope);
}

}  // namespace loopsmith
