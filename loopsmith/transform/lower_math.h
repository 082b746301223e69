// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// What functions may be expanded to.
struct MathOptions {
  bool is_fast = false;    ///< Some take cheaper variants (math/functions.h).
  bool has_ldexp = false;  ///< It is an instruction, and stays.
};

/// Replaces each call of a scalar function by the arithmetic that computes it.
///
///     exp(A[i])    =>    let x = A[i] in precise(let t0 = fma(x, 1.4427, 12582912.0) in ...)
///
/// float64 is computed in itself; float32 and narrower types in float32, the latter rounded at the
/// end. What every target has as instructions stays: sqrt, fma, fabs, floor, round, copysign, ...
Ptr<PrimFunc> lower_math(const Ptr<PrimFunc>& func, const MathOptions& options = {});
Expr lower_math(const Expr& expr, const MathOptions& options = {});

}  // namespace loopsmith
