// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/operators.h"

namespace loopsmith {

/// Arithmetic of operands of which either may be a vector: a ramp of integers stays a ramp, so that
/// accesses at consecutive elements are seen as such.
Expr add_lanes(const Expr& a, const Expr& b);
Expr subtract_lanes(const Expr& a, const Expr& b);
Expr multiply_lanes(const Expr& a, const Expr& b);
/// `value` with elements of the scalar type `element`.
Expr cast_lanes(DataType element, const Expr& value);

/// `value` with that many lanes; it has them, or is a scalar.
Expr with_lanes(const Expr& value, int lanes);

}  // namespace loopsmith
