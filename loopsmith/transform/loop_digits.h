// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A vectorized loop over x as two over x // n and x % n, where indices have these; null where they
/// do not, where they have those of several n, or where n is more than `max_divisor`.
///
///     for x in vectorized(16):           for q in vectorized(8):
///       B[x] = A[x % 2 * m + x // 2]  =>   for r in vectorized(2):
///                                            B[q*2 + r] = A[r*m + q]
Stmt in_digits(const For& loop, std::int64_t max_divisor);

}  // namespace loopsmith
