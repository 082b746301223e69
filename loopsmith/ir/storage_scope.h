// SPDX-License-Identifier: Apache-2.0
// Who sees the memory of a storage scope.
#pragma once
#include <string_view>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/thread_axis.h"

namespace loopsmith {

/// The scope of the memory behind a pointer.
inline std::string_view scope_of(const Var& pointer) {
  return pointer.pointer ? std::string_view(pointer.pointer->storage_scope) : "global";
}

/// True for memory that the threads of a block, or of a warp, have in common.
inline bool is_shared_by_threads(std::string_view scope) {
  return scope.starts_with("shared") || scope == "warp";
}

/// True for tiles of matrices that the 32 threads of a warp hold in their registers, some elements
/// each: `wmma.matrix_a`, `wmma.matrix_b`, `wmma.accumulator`. A warp are the threads along x.
inline bool is_fragment(std::string_view scope) {
  return scope.starts_with("wmma.");
}

/// True for memory of which each thread has its own, or a part of its own.
inline bool is_of_each_thread(std::string_view scope) {
  return scope.starts_with("local") || is_fragment(scope);
}

/// True when each iteration of a loop over `axis` has memory of that scope for itself.
inline bool is_of_one_thread(ThreadAxis axis, std::string_view scope) {
  if (axis == ThreadAxis::thread_x) return scope == "local";
  if (is_thread_axis(axis)) return scope == "local" || is_fragment(scope);
  return !is_block_axis(axis) || is_of_each_thread(scope) || is_shared_by_threads(scope);
}
inline bool is_of_one_thread(std::string_view tag, std::string_view scope) {
  return is_of_one_thread(thread_axis_of(tag), scope);
}

}  // namespace loopsmith
