// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace loopsmith {

void* allocate_aligned(std::size_t size, std::size_t alignment) noexcept {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const bool is_large = size >= 2 * huge_page;
  alignment = std::max({alignment, sizeof(void*), is_large ? huge_page : 1});
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, std::max<std::size_t>(size, 1)) != 0) return nullptr;
  if (is_large) ::madvise(memory, size / huge_page * huge_page, MADV_HUGEPAGE);
  return memory;
}

void free_aligned(void* memory) noexcept {
  std::free(memory);
}

}  // namespace loopsmith
