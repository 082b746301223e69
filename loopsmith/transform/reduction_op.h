// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "loopsmith/ir/accumulation.h"

namespace loopsmith {

/// The call that combines all lanes of a vector, `vector_reduce_add` and its like; nothing where
/// there is none.
std::optional<Op> lane_reduction(Combiner combiner);

/// `store` as an accumulation whose combiner has such a call, if it is one.
std::optional<Accumulation> accumulation_of_lanes(const BufferStore& store);

/// What the combiner makes of all lanes of a vector.
Expr all_lanes_combined(Combiner combiner, const Expr& vector);

}  // namespace loopsmith
