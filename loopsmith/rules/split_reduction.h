// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// A long reduction to few results, whose parts may run at once.
struct SplitReduction {
  Nest parts;  ///< Fills `partial`, whose first dimension is the part.
  Nest join;   ///< Combines the parts, one after another.
  Ptr<Buffer> partial;
};

/// for i, k: C[i] += A[i, k]    =>    for p, i, k: P[p, i] += A[i, p * n + k]
///                                    for i, p: C[i] += P[p, i]
///
/// The number of parts depends on the program alone. Nullopt where there are results enough to
/// compute at once, or no even cut.
std::optional<SplitReduction> split_reduction(const Nest& nest, const CpuModel& machine);

}  // namespace loopsmith
