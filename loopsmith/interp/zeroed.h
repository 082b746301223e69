// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace loopsmith::interp {

/// Memory that starts as zeros, of which the system makes pages only where it is accessed.
template <class T>
struct ZeroedAllocator {
  using value_type = T;

  ZeroedAllocator() = default;
  template <class U>
  ZeroedAllocator(const ZeroedAllocator<U>&) {}

  T* allocate(std::size_t count) {
    void* memory = std::calloc(count, sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  /// A value without arguments is all zeros, which it is already.
  template <class U>
  void construct(U*) {}
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
  bool operator==(const ZeroedAllocator&) const = default;
};

/// A vector whose elements, as many as it is made with, are zeros; `resize` may not let it grow.
template <class T>
using Zeroed = std::vector<T, ZeroedAllocator<T>>;

}  // namespace loopsmith::interp
