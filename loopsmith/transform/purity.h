// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// True when evaluating `e` has no effect.
bool is_pure(const Expr& e);

/// True when `e` has no effect and reads no memory: its value depends on its variables alone.
bool is_timeless(const Expr& e);

}  // namespace loopsmith
