// SPDX-License-Identifier: Apache-2.0
// What operators make of constants and trivial identities.
#pragma once
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith::detail {

/// What a binary node computes.
enum class Fn { add, sub, mul, div, mod, floordiv, floormod, min, max, eq, ne, lt, le };

/// What `fn` gives for two operands of one type, where constants or an identity (x + 0) decide it;
/// null otherwise.
Expr try_fold(Fn fn, const Expr& a, const Expr& b);
/// The same, where both are constants.
Expr fold_constants(Fn fn, const Expr& a, const Expr& b);

Expr fold_and(const Expr& a, const Expr& b);
Expr fold_or(const Expr& a, const Expr& b);
Expr fold_not(const Expr& a);

/// A constant as a value of `type`; null when `value` is none, or has no value there.
Expr fold_cast(DataType type, const Expr& value);

/// The constant x << y or x >> y; null unless 0 <= y < bits.
Expr fold_shift(bool left, DataType type, std::int64_t x, std::int64_t y);

/// Throws a BoundsError when `b` is the integer 0.
void require_divisor(const Expr& b, std::string_view what);

/// `value` in each of `lanes`; null for null.
Expr splat(const Expr& value, int lanes);

bool is_true(const Expr& e);
bool is_false(const Expr& e);

}  // namespace loopsmith::detail
