// SPDX-License-Identifier: Apache-2.0
// How expressions are written. Operators convert their operands to one type as the field's scripts
// do, and fold constants and trivial identities; nodes made with `make` do neither.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
/// Division of floats. Integers are refused: say `truncdiv` or `floordiv`.
Expr operator/(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator~(const Expr& a);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);

/// Integer division rounded down, toward zero, up; and the remainders of the first two.
Expr floordiv(const Expr& a, const Expr& b);
Expr floormod(const Expr& a, const Expr& b);
Expr truncdiv(const Expr& a, const Expr& b);
Expr truncmod(const Expr& a, const Expr& b);
Expr ceildiv(const Expr& a, const Expr& b);

Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr select(const Expr& condition, const Expr& true_value, const Expr& false_value);
/// Evaluates only the chosen value.
Expr if_then_else(const Expr& condition, const Expr& true_value, const Expr& false_value);
/// `value` as `dtype`; itself when it has that type.
Expr cast(DataType dtype, const Expr& value);
Expr broadcast(const Expr& value, int lanes);
/// Its bits as those of a value of `dtype` of the same size.
Expr reinterpret(DataType dtype, const Expr& value);
Expr likely(const Expr& condition);
Expr abs(const Expr& x);

/// A call whose type follows from its arguments: `call(op("exp"), {x})`.
Expr call(Op op, std::vector<Expr> args);
Expr call(DataType dtype, Op op, std::vector<Expr> args);
/// The type that `call(op, args)` gives; void where it has to be given.
DataType result_type(Op op, const std::vector<Expr>& args);

/// The two operands, converted to one type and number of lanes.
std::pair<Expr, Expr> match_types(Expr a, Expr b);

/// The smallest and largest value of a type: of floats, finite.
Expr min_value(DataType dtype);
Expr max_value(DataType dtype);
Expr infinity(DataType dtype);

/// The value of `node` when its operands are constants, or an identity (x + 0) decides it; null
/// otherwise. What operators do to each node they make. Throws a BoundsError on division by zero.
Expr fold(const Expr& node);

}  // namespace loopsmith
