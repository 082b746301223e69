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
/// The operand may read elements of the buffer by other indices, `A[i, j] -= A[i, k] * A[j, k]`:
/// that these are other elements is for who changes the order of updates to know.
struct Accumulation {
  Combiner combiner;
  const BufferLoad* old;  ///< The load of what was there.
  Expr operand;
};

/// `store` as an accumulation, if it is one.
std::optional<Accumulation> accumulation_of(const BufferStore& store);

/// False for plain arithmetic that is no accumulation, as `x = a - x` is none. What else a block
/// with an init combines by is taken at its word.
bool may_combine(const BufferStore& store);

/// True when both name one element by the same expressions.
bool are_same_indices(const std::vector<Expr>& a, const std::vector<Expr>& b);

/// What the combiner makes of two values.
Expr combined(Combiner combiner, const Expr& a, const Expr& b);
/// The value that changes nothing.
Expr neutral_element(Combiner combiner, DataType type);

}  // namespace loopsmith
