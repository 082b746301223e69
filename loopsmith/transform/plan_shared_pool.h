// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Lays out the memory in scope `shared.dyn` of each launch: an annotation says at which byte of
/// what the launch gives its blocks an allocation begins. Allocations that are not used at once
/// share memory, with a barrier between the last use of the one and the first of the other:
///
///     S = T.allocate([256], "float32", "shared.dyn")     S: byte 0
///     R = T.allocate([128], "float32", "shared.dyn")     R: byte 0
///     for t in threadIdx.x(32):                     =>   for t in threadIdx.x(32):
///       for k in range(8): ... S ...                       for k in range(8): ... S ...
///       R[t] = ...                                         tvm_storage_sync("shared")
///                                                          R[t] = ...
///
/// Runs after `flatten_buffers`, when extents count the gaps between rows, too, and after
/// `insert_barriers`, which looks at accesses to one buffer.
Ptr<PrimFunc> plan_shared_pool(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
