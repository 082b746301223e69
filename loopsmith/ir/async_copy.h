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
/// that it has committed, all but the last so many, the attribute's value. Between the two no
/// thread knows what the memory holds.
inline constexpr std::string_view async_done = "async_done";
/// The attribute around a product of four warps that may be under way when its statement is done,
/// and so many before it of the same warps, the attribute's value. Its operands stay as they are
/// until then, and its results are used by such products alone.
inline constexpr std::string_view products_in_flight = "products_in_flight";

/// A store into shared memory of what is loaded from global memory of the same type.
struct CopyIntoShared {
  const BufferLoad* source;
  Expr exists;  ///< Where this does not hold, zero is stored; null: it always holds.
};
/// What a store copies so; none where it does something else.
std::optional<CopyIntoShared> copy_into_shared(const BufferStore& store);

}  // namespace loopsmith
