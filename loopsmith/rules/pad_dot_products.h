// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Adds zeros to the operands of products whose steps the groups of an instruction do not cover;
/// see dot_products.h. The padded copies are subjects of their own:
///
///     for i, j, k in n, m, 30:         for i, k in n, 32: A_pad[i, k] = A[i, k] if k < 30 else 0
///       C[i, j] += A[i, k] * B[k, j] =>  for k, j in 32, m: B_pad[k, j] = B[k, j] if k < 30 else 0
///                                      for i, j, k in n, m, 32: C[i, j] += A_pad * B_pad
///
/// Gives whether a step was taken.
bool pad_dot_products(Schedule& schedule, const std::vector<Subject>& subjects,
                      const CpuModel& machine);

}  // namespace loopsmith
