// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when evaluating `e` has no effect.
bool is_pure(const Expr& e);

/// True when `e` has no effect and reads no memory: its value depends on its variables alone.
bool is_timeless(const Expr& e);

/// True when running `body` may change the value of `e`: `e` reads memory that `body` writes, or
/// may write by a call or through a pointer.
bool may_change(const Expr& e, const Stmt& body);

}  // namespace loopsmith
