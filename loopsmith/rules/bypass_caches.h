// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/machine.h"
#include "loopsmith/rules/program.h"

namespace loopsmith {

/// `stmt`, which runs `nests`, with a mark on the outputs that are too large for the caches and
/// that nobody reads again: their stores may go past the caches, so that lines are not read before
/// they are overwritten.
Stmt bypass_caches(const Stmt& stmt, const std::vector<Nest>& nests, const Program& program,
                   const Machine& machine);

}  // namespace loopsmith
