// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// What takes the place of a pointer: another one, to memory that begins earlier.
struct MovedPointer {
  Ptr<Var> data;
  Expr offset;  ///< Of the element that the old pointer leads to, in elements.
  Expr first;   ///< The address of that element.
};

/// Lets `rewriter` replace uses of pointers by `find`, which gives null for all that stay: in
/// calls, in buffers that are declared on them, in lets. It takes the rewriter's rules for these
/// nodes.
void move_pointers(Rewriter& rewriter, std::function<const MovedPointer*(const Var&)> find);

}  // namespace loopsmith
