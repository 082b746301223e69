// SPDX-License-Identifier: Apache-2.0
// What follows from loops that have iterations, or none.
#pragma once
#include <span>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when a loop of `extent` has iterations wherever loops of all the other extents have some.
bool runs_with(const Expr& extent, std::span<const Expr> others);

/// True where the first iteration of the loops passes the condition if they run at all: if it did
/// not, one of them would be empty.
bool holds_if_run(const Expr& condition, std::span<const For* const> loops);

/// That the loops have a first iteration, and that it passes the condition; true where it does if
/// they run at all.
Expr holds_at_start(const Expr& condition, std::span<const For* const> loops);

}  // namespace loopsmith::arith
