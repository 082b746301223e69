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

/// What the combiner takes for an operand, of which it may leave out what is NaN: nothing, then.
Expr without_nans(Combiner combiner, const Expr& operand);
/// True for what `without_nans` gives, and where the combiner leaves out nothing.
bool is_without_nans(Combiner combiner, const Expr& operand);

/// What the combiner makes of all lanes of a vector, which is without NaNs that it leaves out.
Expr all_lanes_combined(Combiner combiner, const Expr& vector);

}  // namespace loopsmith
