// SPDX-License-Identifier: Apache-2.0
// Copies from global into shared memory that are done while threads go on.
#pragma once
#include <optional>
#include <string_view>

#include "loopsmith/ir/stmt.h"

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

}  // namespace loopsmith
