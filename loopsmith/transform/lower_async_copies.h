// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces copies that are done by waiting for them, `ptx_wait_group(n)`. Where a target
/// `has_async_copies` the copies stay marked for the code generator (ir/async_copy.h); else they
/// are copies like any, which are done where they stand:
///
///     with T.attr(0, "async_done", 1):            T.ptx_wait_group(1)
///       S[0] = A[k]                          =>
///     with T.attr(0, "async_scope", 1):           with T.attr(0, "async_scope", 1):
///       S[1] = A[k + 1]                             S[1] = A[k + 1]
Ptr<PrimFunc> lower_async_copies(const Ptr<PrimFunc>& func, bool has_async_copies);

}  // namespace loopsmith
