// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/transform/access_table.h"

namespace loopsmith {

/// Shrinks each allocation to the box of elements that is used, and rebases its accesses.
///
///     allocate T[n, 100]                   allocate T[8, 100]
///       for j in 8:                  =>      for j in 8:
///         T[i*8 + j, 5] = 0                    T[j, 5 - 5] = 0, with T[8, 1]
///
/// A dimension shrinks to a constant, or to what is proved to be no more than it was. Then
/// `buffer_dim_align` is made good: strides are rounded up as it says.
Ptr<PrimFunc> compact_buffers(const Ptr<PrimFunc>& func);

/// The same in functions with kernels, of which each thread has memory of its own by now.
Ptr<PrimFunc> compact_thread_memory(const Ptr<PrimFunc>& func);

/// True when no value goes through the memory from one iteration of `loop`, which is around all
/// that uses it, to another, also of those that it has in another iteration of a loop around: each
/// might as well have its own.
bool is_of_each_iteration(AccessTable& table, const Allocation& allocation, const Scope* loop);

}  // namespace loopsmith
