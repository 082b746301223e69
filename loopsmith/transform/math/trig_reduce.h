// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith::math {

/// An angle as quadrant * pi/2 + r + lo.
struct Angle {
  Expr r;         ///< In [-pi/4, pi/4] and a little beyond; NaN for infinities and NaN.
  Expr lo;        ///< What r lost; null where that is not known, in float32 always.
  Expr quadrant;  ///< Modulo 4 in an unsigned integer of the width of r; higher bits are any.
};

/// `x` >= 0 reduced, with relative accuracy for every x, the largest too (Payne and Hanek).
Angle reduce_angle(const Expr& x);
/// Any `x` below 2^15 or so in size, float64 below 2^20, to within an ulp of pi/4 (Cody and Waite).
Angle reduce_small_angle(const Expr& x);

}  // namespace loopsmith::math
