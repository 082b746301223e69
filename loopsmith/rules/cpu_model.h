// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "loopsmith/ir/llvm_intrinsics.h"

namespace loopsmith {

/// What the default schedules ask of a processor.
struct CpuModel {
  int vector_bytes = 32;      ///< Of the widest vectors that run at full rate.
  int vector_registers = 16;  ///< How many of them there are.
  int cores = 1;              ///< Threads that parallel loops will have.
  /// How long it takes, in cycles, until a thread that waits for work has begun with it.
  double thread_start_cycles = 5000;
  /// The cycles of work, on one thread, of which others do as much as it takes to start them.
  double least_cycles_for_threads() const {
    const double all = std::max(cores, 2);
    return thread_start_cycles * all / (all - 1);
  }
  /// What the cache holds that is a core's own.
  std::int64_t core_cache_bytes = std::int64_t{1} << 20;
  /// What the largest cache holds: outputs above it are written past it.
  std::int64_t cache_bytes = std::int64_t{32} << 20;
  /// How vectors must be aligned to be written past the caches; 0: they cannot be.
  int streamed_bytes = 0;
  /// How far ahead of its use memory beyond the caches is asked for; 0: not at all.
  int prefetch_bytes = 0;
  /// The instruction for a vector of sums of two products of 16-bit integers; null: there is none.
  const DotIntrinsic* dot_product = nullptr;
  /// That for sums of four products of bytes.
  const DotIntrinsic* byte_product = nullptr;
  /// That for sums of two products of bfloat16. It takes denormal numbers for 0, so that it is here
  /// only where that is allowed.
  const DotIntrinsic* bfloat16_product = nullptr;
};

}  // namespace loopsmith
