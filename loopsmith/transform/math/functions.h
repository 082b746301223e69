// SPDX-License-Identifier: Apache-2.0
// The scalar functions as expressions: without branches, tables and loops, so that they vectorise
// for any number of lanes and every target. `x` is a scalar or vector of float32 or float64; it is
// used several times, so let it be a variable or a constant.
//
// Special values are those of IEEE 754 and C99 (annex F); subnormal numbers count, in and out.
// docs/math.md lists the largest error of each function, all of them measured: at most 2 ulp, tan
// and functions of two arguments 4. Coefficients are minimax polynomials by the Remez exchange,
// rounded with regard to the error that they leave.
//
// sqrt, fma, fabs, floor, ceil, trunc, nearbyint, round, copysign, isnan, isinf and isfinite are an
// instruction or two on every target: they stay calls, exactly rounded; the expansions use some.
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith::math {

// exp.cc
Expr lower_exp(const Expr& x);
Expr lower_exp2(const Expr& x);
Expr lower_exp10(const Expr& x);
Expr lower_expm1(const Expr& x);
Expr lower_sigmoid(const Expr& x);

// log.cc
Expr lower_log(const Expr& x);
Expr lower_log2(const Expr& x);
Expr lower_log10(const Expr& x);
Expr lower_log1p(const Expr& x);

// hyperbolic.cc
Expr lower_sinh(const Expr& x);
Expr lower_cosh(const Expr& x);
Expr lower_tanh(const Expr& x);

// inverse_hyperbolic.cc
Expr lower_asinh(const Expr& x);
Expr lower_acosh(const Expr& x);
Expr lower_atanh(const Expr& x);

// trig.cc
Expr lower_sin(const Expr& x);
Expr lower_cos(const Expr& x);
Expr lower_tan(const Expr& x);

// inverse_trig.cc
Expr lower_asin(const Expr& x);
Expr lower_acos(const Expr& x);
Expr lower_atan(const Expr& x);
Expr lower_atan2(const Expr& y, const Expr& x);

// erf.cc
Expr lower_erf(const Expr& x);

// pow.cc
Expr lower_pow(const Expr& x, const Expr& y);

// roots.cc
Expr lower_rsqrt(const Expr& x);
Expr lower_hypot(const Expr& x, const Expr& y);

// fmod.cc
Expr lower_fmod(const Expr& x, const Expr& y);

// bits.cc
/// Of any floating-point type.
Expr lower_nextafter(const Expr& x, const Expr& y);
/// x 2^n for an integer n of any type.
Expr lower_ldexp(const Expr& x, const Expr& n);

// For `fast_math`: cheaper, errors up to 8 ulp, without regard to subnormal numbers, and for log to
// zero, negative numbers, infinity and NaN. Each stands in the file of the exact one.
Expr fast_exp(const Expr& x);
Expr fast_sigmoid(const Expr& x);
Expr fast_log(const Expr& x);
Expr fast_tanh(const Expr& x);
/// For |x| < 2^15, in float64 2^20.
Expr fast_sin(const Expr& x);
Expr fast_cos(const Expr& x);

}  // namespace loopsmith::math
