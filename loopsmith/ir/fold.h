// SPDX-License-Identifier: Apache-2.0
// What operators make of constants and trivial identities.
#pragma once
#include <string_view>
#include <utility>

#include "loopsmith/ir/expr.h"

namespace loopsmith::detail {

/// True for the kinds of nodes with two operands, from Add to Or; for those of them that divide.
constexpr bool is_binary(std::uint16_t kind) {
  return kind >= kind_of<Add> && kind <= kind_of<Or>;
}
constexpr bool is_division(std::uint16_t kind) {
  return kind >= kind_of<Div> && kind <= kind_of<FloorMod>;
}
/// The operands of such a node.
std::pair<const Expr&, const Expr&> operands_of(const Expr& binary);

/// What such a node makes of two whole numbers before it is reduced to a type; of a product, the
/// low 128 bits. Comparisons give 0 or 1, divisions by 0 give 0.
__int128 whole_result(std::uint16_t kind, __int128 a, __int128 b);

/// What such a node gives for two operands of one type, where constants or an identity (x + 0)
/// decide it; null otherwise.
Expr try_fold(std::uint16_t kind, const Expr& a, const Expr& b);
Expr fold_not(const Expr& a);

/// A constant as a value of `type`; null when `value` is none, or has no value there.
Expr fold_cast(DataType type, const Expr& value);

/// The constant x << y or x >> y; null unless 0 <= y < bits.
Expr fold_shift(bool left, DataType type, std::int64_t x, std::int64_t y);

/// What users call a division: `truncdiv`.
std::string_view name_of_division(std::uint16_t kind);

/// Throws a BoundsError when the divisor `b` is the integer 0.
void require_divisor(std::uint16_t kind, const Expr& b);

/// `value` in each of `lanes`; null for null.
Expr splat(const Expr& value, int lanes);

bool is_true(const Expr& e);
bool is_false(const Expr& e);

}  // namespace loopsmith::detail
