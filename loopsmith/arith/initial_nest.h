// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::arith {

/// True when `loop_var` drives a reduction axis of the block. A loop that is a spatial axis itself
/// has results of its own in each iteration, also where parts of the reduction are as long as it
/// says.
bool is_reduction_loop(const BlockRealize& realize, const Ptr<Var>& loop_var);

/// The init of `realize` as a nest of its own, which runs before its reduction; null when that
/// would change which elements are initialised. `loops` are those around the block with nothing
/// but each other between them, from the outermost reduction loop on; of these the nest has copies
/// of the spatial ones. It does the init where `condition` holds.
Stmt initial_nest(const BlockRealize& realize, std::span<const For* const> loops,
                  const Expr& condition);

}  // namespace loopsmith::arith
