// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// Fewer expressions with the same information as `values`: where `x // m` and `x % m` are among
/// them, x takes their place, whatever m is, since x = (x // m) * m + x % m. So the values of axes
/// whose loops, of any extents, were fused are one loop again: f // (m * k), f // k % m and f % k
/// make f.
std::vector<Expr> join_radix_terms(std::vector<Expr> values);

}  // namespace loopsmith
