// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/ir/buffer.h"

namespace loopsmith {

/// How far from its pointer the element at `indices` lies, in elements. Throws a UserError for
/// another number of indices.
Expr offset_of(const Buffer& buffer, const std::vector<Expr>& indices);

/// True when each dimension of a buffer is a physical axis: no two are left together by its axis
/// separators, and none of these is before the first or behind the last.
bool is_of_physical_axes(const Buffer& buffer);

/// A buffer over the same memory with one dimension for each group of dimensions that the axis
/// separators leave together; itself where it has that shape.
Ptr<Buffer> flattened_buffer(const Ptr<Buffer>& buffer);

/// What of a buffer a pointer to it is for.
struct PointerUse {
  int mask = 0;      ///< 1: it is read, 2: written, 3: both.
  int lanes = 1;     ///< How many elements it points to at a time.
  Expr offset = {};  ///< Where it points to, in elements; null: to the first.
  Expr extent = {};  ///< How many elements are used; null: all from there on.
};

/// The call of `tvm_access_ptr` that gives a pointer to elements of a buffer.
Expr access_ptr(const Ptr<Buffer>& buffer, const PointerUse& use);

/// The mask of "r", "w" and "rw".
int pointer_mask(std::string_view letters);

}  // namespace loopsmith
