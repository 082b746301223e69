// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces each call of a scalar function by the arithmetic that computes it.
///
///     exp(A[i])    =>    let x = A[i] in precise(let t0 = fma(x, 1.4427, 12582912.0) in ...)
///
/// float64 is computed in itself; float32 and narrower types in float32, the latter rounded at the
/// end. What every target has as instructions stays: sqrt, fma, fabs, floor, round, copysign, ...
/// With `fast_math`, exp, sigmoid, log, tanh, sin and cos take cheaper variants (math/functions.h).
Ptr<PrimFunc> lower_math(const Ptr<PrimFunc>& func, bool fast_math = false);
Expr lower_math(const Expr& expr, bool fast_math = false);

}  // namespace loopsmith
