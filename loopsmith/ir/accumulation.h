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
  smaller,  ///< `x = e if e < x else x` of floats: e that is NaN is left out, x that is stays.
  larger,   ///< `x = e if e > x else x`.
};

/// `buffer[indices] = combine(buffer[indices], operand)`. `x + a - b` is the sum of x and `a - b`.
/// The operand may read elements of the buffer by other indices, `A[i, j] -= A[i, k] * A[j, k]`:
/// that these are other elements is for steps that change the order of updates to know.
struct Accumulation {
  Combiner combiner;
  Expr operand;
};

/// `store` as an accumulation, if it is one.
///
/// Theorem. Let x be updated by `larger` with e1, ..., en, in any order and in any groups, each of
/// which starts with -inf. Then x is what it was where that is NaN, and else the largest of what it
/// was and those e that are not NaN. (Zeros of either sign count as equal, as for `maximum`.)
///
/// Proof. Comparisons with NaN are false. So a group never holds a NaN, an e that is one changes
/// nothing, and nor does any e where x is one; what remains is the maximum of a total order.
std::optional<Accumulation> accumulation_of(const BufferStore& store);

/// True for a load of the element that the store updates.
bool is_old_value(const BufferStore& store, const BufferLoad& load);

/// `if e > x: x = e` as a store that accumulates, `x = e if e > x else x`, and the like for `<`,
/// `>=` and `<=`; null for other branches.
///
/// Theorem. The two leave the same in memory, but for signs of zeros where the condition holds of
/// equal numbers. Where it does not hold, the store stores what is there; it reads what that reads.
Stmt selected_update(const IfThenElse& branch);

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
