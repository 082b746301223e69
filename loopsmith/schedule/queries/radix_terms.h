// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// Fewer expressions with the same information as `values`: where `x // m` and `x % m` are among
/// them, x takes their place, since x = (x // m) * m + x % m, for a number m above 0 or one of
/// `positive`, or a product of such: both are 0 where m is. So the values of axes whose loops, of
/// any extents, were fused are one loop again: f // (m * k), f // k % m and f % k make f.
std::vector<Expr> join_radix_terms(std::vector<Expr> values, std::span<const Expr> positive);

}  // namespace loopsmith
