// SPDX-License-Identifier: Apache-2.0
// Copies from global into shared memory that are done while threads go on.
#pragma once
#include <optional>
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The attribute around copies that need not be done when their statement is. What a thread starts
/// up to a `ptx_commit_group` is one group.
inline constexpr std::string_view async_scope = "async_scope";
/// The attribute around the same copies where a thread waits until they are done: of the groups
/// that it has committed, all but the last so many, the attribute's value. Between the two nobody
/// knows what the memory holds.
inline constexpr std::string_view async_done = "async_done";

/// A store into shared memory of what is loaded from global memory of the same type.
struct CopyIntoShared {
  const BufferLoad* source;
  Expr exists;  ///< Where this does not hold, zero is stored; null: it always holds.
};
/// What a store copies so; none where it does something else.
std::optional<CopyIntoShared> copy_into_shared(const BufferStore& store);

/// Replaces copies that are done by waiting for them, `ptx_wait_group(n)`. Where a target
/// `has_async_copies` the copies stay marked for the code generator; else they are copies like any,
/// which are done where they stand:
///
///     with T.attr(0, "async_done", 1):            T.ptx_wait_group(1)
///       S[0] = A[k]                          =>
///     with T.attr(0, "async_scope", 1):           with T.attr(0, "async_scope", 1):
///       S[1] = A[k + 1]                             S[1] = A[k + 1]
Ptr<PrimFunc> lower_async_copies(const Ptr<PrimFunc>& func, bool has_async_copies);

}  // namespace loopsmith
