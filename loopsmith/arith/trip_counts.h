// SPDX-License-Identifier: Apache-2.0
// What follows from loops that have iterations, or none.
#pragma once
#include <span>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when a loop of `extent` has iterations wherever loops of all the other extents have some.
bool runs_with(const Expr& extent, std::span<const Expr> others);

/// What is left to ask of a condition where none of the extents is below 1: true where it holds
/// whenever that is so.
Expr unless_empty(const Expr& condition, std::span<const Expr> extents);

}  // namespace loopsmith::arith
