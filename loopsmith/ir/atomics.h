// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// What `T.atomic_max(address, operand)` and its like store where `before` was.
Expr stored_atomically(Op atomic, const Expr& before, const Expr& operand);

}  // namespace loopsmith
