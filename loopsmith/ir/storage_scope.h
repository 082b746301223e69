// SPDX-License-Identifier: Apache-2.0
// Who sees the memory of a storage scope.
#pragma once
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// The scope of the memory behind a pointer.
inline std::string_view scope_of(const Var& pointer) {
  return pointer.pointer ? std::string_view(pointer.pointer->storage_scope) : "global";
}

/// True for memory that the threads of a block, or of a warp, have in common.
inline bool is_shared_by_threads(std::string_view scope) {
  return scope.starts_with("shared") || scope == "warp";
}

/// True for memory of which each thread has its own.
inline bool is_of_each_thread(std::string_view scope) {
  return scope.starts_with("local");
}

/// True when each iteration of a loop over `thread_axis` has memory of that scope for itself.
inline bool is_of_one_thread(std::string_view thread_axis, std::string_view scope) {
  if (thread_axis.starts_with("threadIdx.")) return scope == "local";
  return !thread_axis.starts_with("blockIdx.") || scope == "local" || is_shared_by_threads(scope);
}

}  // namespace loopsmith
