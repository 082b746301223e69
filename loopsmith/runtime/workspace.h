// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

namespace loopsmith {

/// Memory for what a kernel computes in between. Blocks are kept for the next call, so that it does
/// not access fresh pages again; any thread may use it.
class Workspace {
 public:
  /// How much it keeps at most, in bytes.
  static constexpr std::size_t max_kept = std::size_t{256} << 20;

  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// `size` bytes at a multiple of `alignment` (a power of two), or null.
  void* allocate(std::size_t size, std::size_t alignment) noexcept;
  /// Takes back what `allocate` gave for the same size and alignment.
  void release(void* memory, std::size_t size, std::size_t alignment) noexcept;

  /// How much is kept for later calls now, in bytes.
  std::size_t kept() const;

 private:
  struct Block {
    void* memory;
    std::size_t size;
    std::size_t alignment;
  };

  mutable std::mutex mutex_;
  std::vector<Block> free_;
  std::size_t kept_ = 0;
};

}  // namespace loopsmith
