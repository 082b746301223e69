// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Exchanges between the lanes of a warp, where there are no warps (`warp_size` 1): through memory
/// that the threads of a block share.
///
///     B[t] = tvm_warp_shuffle(mask, A[t], 0, 4, 32)
///       =>
///     given[t] = A[t]
///     B[t] = given[t // 4 * 4]
///
/// Each group of `width` lanes, the fourth argument, exchanges among itself. What is between the
/// store and the load is for insert_barriers.h to say, which comes later.
Ptr<PrimFunc> shuffles_in_memory(const Ptr<PrimFunc>& func, int warp_size = 1);

}  // namespace loopsmith
