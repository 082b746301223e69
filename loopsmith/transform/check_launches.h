// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"

namespace loopsmith {

/// Throws a UserError for a launch of a lowered function that no device of the target can do: more
/// threads, blocks or shared memory than there are.
void check_launches(const PrimFunc& func, const Target& target);

}  // namespace loopsmith
