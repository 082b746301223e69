// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/rule.h"

namespace loopsmith {

/// Computes stages that read neighbours of each other in strips of rows that a core's cache holds,
/// each for itself:
///
///     for i, j in n + 2, m: B[i, j] = f(A, i, j)      for strip in n / 32:  (parallel)
///     for i, j in n, m:                               for i, j in 34, m: B[i, j] = f(A, ...)
///       C[i, j] = B[i, j] + B[i + 1, j] + B[i + 2, j]  =>   for i, j in 32, m:  C[...] = ...
///
/// See stencil_group.h for where that pays. Gives whether a step was taken.
bool fuse_stencils(Schedule& schedule, const RuleContext& context);

}  // namespace loopsmith
