// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Turns the initial statement of each reduction block into a statement of its own.
///
///     for i:                           for i:
///       for k:                           block c_init(vi = i):
///         block c(vi = i, vk = k):         C[vi] = 0
///           init: C[vi] = 0       =>     for k:
///           C[vi] += A[vi, vk]             block c(vi = i, vk = k):
///                                            C[vi] += A[vi, vk]
///
/// It stands before the outermost reduction loop, under copies of the spatial loops inside that
/// one. Where there is more in these loops than the block, or a loop or a condition is of both
/// kinds, it stays in the block, under `if vk == 0`; where one of the loops may have no iteration,
/// a copy of it stands before them for that case.
Ptr<PrimFunc> lower_init(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
