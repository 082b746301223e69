// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// buffer[indices] = buffer[indices] + value, and the like for *, min and max.
struct Accumulation {
  Op reduction;  ///< `vector_reduce_add`, ...
  Expr value;
};

/// `store` as an accumulation, if it is one.
std::optional<Accumulation> accumulation_of(const BufferStore& store);

/// What `reduction` makes of `a` and `b`, its neutral element, and of all lanes of a vector.
Expr combined(Op reduction, const Expr& a, const Expr& b);
Expr neutral_element(Op reduction, DataType type);
Expr all_lanes_combined(Op reduction, const Expr& vector);

}  // namespace loopsmith
