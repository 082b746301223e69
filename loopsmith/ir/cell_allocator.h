// SPDX-License-Identifier: Apache-2.0
// Memory for small vectors that live briefly, from the same lists of free cells as that of nodes.
#pragma once
#include <cstddef>

namespace loopsmith {

/// Memory of so many bytes; of few bytes, a free cell of this thread.
void* take_cell(std::size_t bytes);
/// Gives memory back that `take_cell` gave for so many bytes; any thread may.
void give_cell(void* memory, std::size_t bytes) noexcept;

/// An allocator of the standard library that takes cells.
template <class T>
struct CellAllocator {
  using value_type = T;

  CellAllocator() = default;
  template <class U>
  CellAllocator(const CellAllocator<U>&) {}  // NOLINT: as an allocator converts.
  T* allocate(std::size_t count) { return static_cast<T*>(take_cell(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept {
    give_cell(static_cast<void*>(memory), count * sizeof(T));
  }
  bool operator==(const CellAllocator&) const = default;
};

}  // namespace loopsmith
