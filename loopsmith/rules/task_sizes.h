// SPDX-License-Identifier: Apache-2.0
// How much a task does.
#pragma once
#include <cstdint>

namespace loopsmith {

/// A task of a one-dimensional loop, and of one that is so long that there are many of the larger
/// ones: where results go past the caches, each start and each end costs.
inline constexpr std::int64_t elements_a_task = 1 << 14;
inline constexpr std::int64_t elements_a_long_task = 1 << 16;
inline constexpr std::int64_t many_elements = 1 << 22;

/// What a task reads of each row of a matrix, where it reads along rows: of less, streams end too
/// soon for a prefetcher.
inline constexpr std::int64_t min_strip_bytes = 2048;

}  // namespace loopsmith
