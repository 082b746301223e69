// SPDX-License-Identifier: Apache-2.0
// What several families share: the inner parts of exp and log, and numbers kept as two words.
#pragma once
#include "loopsmith/transform/math/math_builder.h"

namespace loopsmith::math {

// ---- Exponentials (exp.cc) ----

/// x = k log(2) + r with |r| <= log(2)/2, k modulo 2^bits. Needs |x| < 2^10 or so.
struct ExpArgument {
  Expr r;
  Expr k;
};
ExpArgument reduce_exp(const Expr& x);
/// e^r for |r| <= log(2)/2.
Expr exp_of_reduced(const Expr& r);
/// e^r - 1 for the same r, with its own relative accuracy.
Expr expm1_of_reduced(const Expr& r);
/// e^x = p 2^k.
struct ExpParts {
  Expr p;
  Expr k;
};
ExpParts exp_parts(const Expr& x);

// ---- Logarithms (log.cc) ----

/// x = m 2^k with m between the roots of 1/2 and 2.
struct LogParts {
  Expr m;
  Expr k;  ///< Modulo 2^bits.
};
/// For positive normal x.
LogParts split_normal(const Expr& x);
/// For positive x, subnormal too.
LogParts split(const Expr& x);
/// log(1 + f) + k log(2).
Expr log_core(const Expr& f, const Expr& k);
/// For float64, the parts of log(1 + f) = f - (square - rest), square = f^2 / 2.
struct LogSeries {
  Expr square;
  Expr rest;
};
LogSeries log_series(const Expr& f);
/// `y`, with the logarithm of what is not positive and finite in its place.
Expr log_special(const Expr& y, const Expr& x);

// ---- Two words (double_word.cc) ----

/// The number hi + lo, |lo| at most half an ulp of hi.
struct DoubleWord {
  Expr hi;
  Expr lo;
};
/// a + b for |a| >= |b| or a = 0 (Dekker).
DoubleWord fast_two_sum(const Expr& a, const Expr& b);
/// a + b (Knuth).
DoubleWord two_sum(const Expr& a, const Expr& b);
/// a b.
DoubleWord two_product(const Expr& a, const Expr& b);
DoubleWord multiply(const DoubleWord& a, const DoubleWord& b);

}  // namespace loopsmith::math
