// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/rules/cpu_model.h"
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// The cycles that a point of the nest takes in vectors, about.
double cycles_of_point(const Nest& nest, const CpuModel& machine);

/// Where other threads have woken before one has done all work of nests that run one after another:
/// 1 or 0 where that is known, else a condition on the sizes of the function.
///
///     for i, j in n, m: B[i, j] = max(A[i, j], 0)   =>   n * m >= 53334
///
/// What is gained is the work that others do; of an extent that is no expression of sizes, 1.
Expr threads_pay(const std::vector<Nest>& nests, const PrimFunc& func, const CpuModel& machine);

}  // namespace loopsmith
