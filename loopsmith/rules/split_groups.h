// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Gives groups of filters an axis of their own, where that makes a product of a grouped
/// convolution, whose operands can be packed; the results are copied where they belong:
///
///     for f, x, c in 64, n, 8:                       for g, f, x, c in 8, 8, n, 8:
///       Y[f, x] += X[f // 8 * 8 + c, x] * W[f, c]  =>  Y_global[g, f, x] +=
///                                                        X[g * 8 + c, x] * W[g * 8 + f, c]
///                                                    for f, x: Y[f, x] = Y_global[f // 8, f % 8,
///                                                    x]
///
/// Gives whether a step was taken.
bool split_groups(Schedule& schedule, const std::vector<Subject>& subjects,
                  const CpuModel& machine);

}  // namespace loopsmith
