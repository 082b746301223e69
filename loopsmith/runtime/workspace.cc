// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/workspace.h"

#include <algorithm>
#include <bit>

#include "loopsmith/runtime/memory.h"

namespace loopsmith {
namespace {

/// `size` rounded up to one of four sizes between powers of two, so that sizes that vary a little
/// share blocks. Wastes a quarter at most.
std::size_t size_class(std::size_t size) {
  constexpr std::size_t least = 256;
  if (size <= least) return least;
  const std::size_t step = std::bit_floor(size - 1) / 4;
  const std::size_t rounded = (size + step - 1) / step * step;
  return rounded < size ? size : rounded;
}

}  // namespace

Workspace::~Workspace() {
  for (const Block& block : free_) free_aligned(block.memory);
}

void* Workspace::allocate(std::size_t size, std::size_t alignment) noexcept {
  size = size_class(size);
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Block& b) { return b.size == size && b.alignment >= alignment; };
    const auto block = std::find_if(free_.rbegin(), free_.rend(), fits);  // the warmest first
    if (block != free_.rend()) {
      void* memory = block->memory;
      kept_ -= block->size;
      free_.erase(std::next(block).base());
      return memory;
    }
  }
  return allocate_aligned(size, alignment);
}

void Workspace::release(void* memory, std::size_t size, std::size_t alignment) noexcept {
  if (!memory) return;
  size = size_class(size);
  try {
    const std::lock_guard lock(mutex_);
    if (size <= max_kept - kept_) {
      free_.push_back({memory, size, alignment});
      kept_ += size;
      return;
    }
  } catch (...) {  // no memory to note it down: it is not kept
  }
  free_aligned(memory);
}

std::size_t Workspace::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace loopsmith
