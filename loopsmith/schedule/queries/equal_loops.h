// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The loop that a statement is, if it is one that runs like `loop`: of its kind, with its start,
/// extent and step, and without annotations or threads. Null for all else.
const For* equal_loop(const Stmt& stmt, const For& loop);

}  // namespace loopsmith
