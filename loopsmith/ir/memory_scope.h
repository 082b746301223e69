// SPDX-License-Identifier: Apache-2.0
// What memory is, by its scope: which threads see it. Pointers carry scopes as texts, since users
// may have names of their own; the code asks what a text means here, once.
#pragma once
#include <cstdint>
#include <string_view>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/thread_axis.h"

namespace loopsmith {

/// The scopes that a name may say. A user's own name belongs to a family by how it begins
/// (`local.window`), and to none otherwise; what makes two of them differ is their text.
enum class MemoryScope : std::uint8_t {
  global,
  shared,
  shared_dynamic,  ///< `shared.dyn`: of a size that the launch says.
  warp,
  local,
  matrix_a,     ///< `wmma.matrix_a`.
  matrix_b,     ///< `wmma.matrix_b`.
  accumulator,  ///< `wmma.accumulator`.
  named_global,
  named_shared,
  named_warp,
  named_local,
  named_fragment,
  named,
};

/// What a name says; without one, global.
MemoryScope memory_scope(std::string_view name);
/// That of the memory behind a pointer, or of a buffer.
MemoryScope memory_scope(const Var& pointer);
MemoryScope memory_scope(const Buffer& buffer);

/// The name of a scope that is no user's own.
std::string_view name_of(MemoryScope scope);

constexpr bool is_global(MemoryScope scope) {
  return scope == MemoryScope::global || scope == MemoryScope::named_global;
}

/// True for memory that the threads of a block have in common.
constexpr bool is_shared(MemoryScope scope) {
  return scope == MemoryScope::shared || scope == MemoryScope::shared_dynamic ||
         scope == MemoryScope::named_shared;
}

/// True for memory that the threads of a block, or of a warp, have in common.
constexpr bool is_shared_by_threads(MemoryScope scope) {
  return is_shared(scope) || scope == MemoryScope::warp;
}

/// True for tiles of matrices that the 32 threads of a warp hold in their registers, some elements
/// each. A warp are the threads along x.
constexpr bool is_fragment(MemoryScope scope) {
  return scope == MemoryScope::matrix_a || scope == MemoryScope::matrix_b ||
         scope == MemoryScope::accumulator || scope == MemoryScope::named_fragment;
}

/// True for memory of which each thread has its own.
constexpr bool is_local(MemoryScope scope) {
  return scope == MemoryScope::local || scope == MemoryScope::named_local;
}

/// True for memory of which each thread has its own, or a part of its own.
constexpr bool is_of_each_thread(MemoryScope scope) {
  return is_local(scope) || is_fragment(scope);
}

/// True when each iteration of a loop over `axis` has memory of that scope for itself.
constexpr bool is_of_one_thread(ThreadAxis axis, MemoryScope scope) {
  if (axis == ThreadAxis::thread_x) return scope == MemoryScope::local;
  if (is_thread_axis(axis)) return scope == MemoryScope::local || is_fragment(scope);
  return !is_block_axis(axis) || is_of_each_thread(scope) || is_shared_by_threads(scope);
}

}  // namespace loopsmith
