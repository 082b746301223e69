// SPDX-License-Identifier: Apache-2.0
// Stores that update their own element: `x = x + e` and the like.
#pragma once
#include <optional>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The operations by which elements are updated in any order.
enum class Combiner : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  all,
  any,
  bit_and,
  bit_or,
  bit_xor,
};

/// `buffer[indices] = combine(buffer[indices], operand)`. `x + a - b` is the sum of x and `a - b`.
struct Accumulation {
  Combiner combiner;
  const BufferLoad* old;  ///< The load of what was there.
  Expr operand;           ///< Does not read the buffer.
};

/// `store` as an accumulation, if it is one.
std::optional<Accumulation> accumulation_of(const BufferStore& store);

/// What the combiner makes of two values.
Expr combined(Combiner combiner, const Expr& a, const Expr& b);
/// The value that changes nothing.
Expr neutral_element(Combiner combiner, DataType type);

}  // namespace loopsmith
