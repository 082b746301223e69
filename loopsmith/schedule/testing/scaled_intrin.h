// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"
#include "loopsmith/schedule/argument.h"

namespace loopsmith::schedule_testing {

/// An intrinsic of four elements that some programs have.
Argument scaled_intrin();

/// True when a block does for an element what that intrinsic does for four.
bool is_scaling(const Block& block);

}  // namespace loopsmith::schedule_testing
