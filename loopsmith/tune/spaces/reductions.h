// SPDX-License-Identifier: Apache-2.0
// The generated space of a block that reduces.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith::tune {

inline constexpr std::int64_t vector_extents[] = {4, 8, 16, 32, 64};

/// Tiles a reduction, keeps partial results for the lanes of vectors, or reduces chunks in
/// parallel: inside of `shared` loops that it has with its consumer.
void schedule_reduction(Schedule& schedule, BlockRV block, std::size_t shared);

/// Vectorizes the innermost loop of a block, or a part of a long one.
void vectorize_innermost(Schedule& schedule, BlockRV block);

}  // namespace loopsmith::tune
