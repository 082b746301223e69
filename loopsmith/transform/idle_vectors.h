// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The vectors of an unrolled loop, each only if those before and its first lane have something to
/// combine: where all lanes of a vector are beyond an end, what they combine is neutral. Null for
/// other loops.
///
///     for v in 2: (unrolled)                                 if 0 < n:
///       for l in 8: (vectorized)                      =>       for l in 8: ...
///         P[v*8 + l] += A[v*8 + l] if v*8 + l < n else 0       if 8 < n:
///                                                                for l in 8: ...
Stmt without_idle_vectors(const For& loop);

}  // namespace loopsmith
