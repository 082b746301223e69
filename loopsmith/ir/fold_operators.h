// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/walk.h"

namespace loopsmith {

/// Adds rules to a rewriter that make operators anew where their operands change: constants are
/// computed, and operands of different widths take the wider type.
void fold_operators(Rewriter& rewrite);

}  // namespace loopsmith
