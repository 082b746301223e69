// SPDX-License-Identifier: Apache-2.0
// Which accesses of a block with an init are its updates. Private to this folder.
#pragma once
#include <vector>

#include "loopsmith/arith/dependence/program.h"

namespace loopsmith::dependence {

/// Reductions update one element at a time, and combine their elements in any order. Accesses of
/// other elements, and of the reductions among `ordered`, become those of plain statements.
void keep_alike_updates(Program& program, const std::vector<int>& ordered);

}  // namespace loopsmith::dependence
