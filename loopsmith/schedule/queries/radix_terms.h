// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// Expressions in terms of `loops` with the same information as `values`, and digits put together
/// or taken apart, so that affine forms can read them.
///
/// Lemma. x // m and x % m tell x, as x = (x // m) * m + x % m, for m above 0. So the values of
/// axes whose loops, of any extents, were fused are one loop again: f // (m * k), f // k % m and f
/// % k make f. And q * m + i tells both q and i where 0 <= i < m, and m is the same in all
/// iterations: so are those of loops that were split, i being the inner one and m its extent.
///
/// `loops` have the same extents whenever they run; `positive`: what is above 0 besides numbers.
std::vector<Expr> plain_radix_terms(std::vector<Expr> values, std::span<const For* const> loops,
                                    std::span<const Expr> positive);

}  // namespace loopsmith
