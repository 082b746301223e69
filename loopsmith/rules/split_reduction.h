// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// The axis along which a long reduction is cut, and how many parts it gets.
struct ReductionCut {
  Axis axis;
  std::int64_t parts;
};

/// The cut of a long reduction to few results, whose parts may run concurrently. The number of
/// parts depends on the program alone. Nullopt where there are results enough to compute at once,
/// or no even cut.
std::optional<ReductionCut> cut_of_reduction(const Nest& nest, const CpuModel& machine);

/// Cuts long reductions to few results by steps, and gives whether there were any.
///
///     for i, k: C[i] += A[i, k]    =>    for p, i, k: P[p, i] += A[i, p * n + k]
///                                        for i, p: C[i] += P[p, i]
bool split_long_reductions(Schedule& schedule, const std::vector<Subject>& subjects,
                           const CpuModel& machine);

}  // namespace loopsmith
