// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives a name to what is computed more than once by neighbouring stores.
///
///     A[i*m + j] = B[i*m + j] + 1   =>   let cse = i*m + j: A[cse] = B[cse] + 1
///
/// Only of pure expressions that read no memory, of at least two operations on integers, or with a
/// call or a division of floats: so that sums of products stay whole for fused operations. Nothing
/// out of a branch of if_then_else. Ramps stay visible where they are.
Ptr<PrimFunc> common_subexpressions(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
