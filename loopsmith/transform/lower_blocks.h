// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Annotations of allocations: rows of [buffer, dimension, factor, offset]; that two versions are
/// to live at a time.
inline constexpr std::string_view dim_align = "buffer_dim_align";
inline constexpr std::string_view double_buffer = "double_buffer_scope";

/// The annotations of an allocation that gets a new first dimension: the others are one further
/// back.
Attrs behind_new_dimension(const Attrs& annotations);

/// Leaves loops, conditions and allocations of what blocks are.
///
///     for i, j:                                  for i, j:
///       block b(vi = i*4 + j) where(c):            if c:
///         alloc T                          =>        allocate T, declare T
///         B[vi] = A[vi]                                B[i*4 + j] = A[i*4 + j]
///
/// An annotation `pragma_x` becomes an attribute, of the body of a block or around a loop; a
/// block's `buffer_dim_align` and `double_buffer_scope` become annotations of the allocations; the
/// others of blocks have done their duty.
Ptr<PrimFunc> lower_blocks(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
