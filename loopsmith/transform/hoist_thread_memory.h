// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Gives threads memory whose size is known at the launch alone, which a kernel cannot declare: one
/// allocation around the launch, with a part for each thread.
///
///                                     allocate a[32 * n]
///     for t in threadIdx.x(32):       for t in threadIdx.x(32):
///       allocate a[n]             =>    a[t * n + i] = ...
///       a[i] = ...
///
/// Memory of constant size stays, and so does what is used by more than loads and stores.
Ptr<PrimFunc> hoist_thread_memory(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
