// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// A variable that no parameter gives alone: it follows from an extent in which it is the one
/// variable that is not known otherwise, as m does from the extent m + 1.
struct SolvedSize {
  Ptr<Var> variable;
  std::size_t parameter;
  std::size_t dimension;
  Ptr<Var> extent;  ///< Stands for the extent of the argument.
  Expr value;       ///< Of the variable, in terms of `extent` and variables known before.
};

/// What the extents of a function's parameters say of variables that are no extent by themselves,
/// in an order in which each value is known when it is needed. The value is 0 or more, and right
/// where the extent that it gives is the one it was solved from, which is checked where it is
/// bound.
std::vector<SolvedSize> solved_sizes(const PrimFunc& func);

}  // namespace loopsmith
