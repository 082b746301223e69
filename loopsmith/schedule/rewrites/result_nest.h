// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// A nest that does something for each result of a reduction: `init` is the nest that
/// decompose_reduction makes of its init, `body` a statement in terms of the axes of `reduction`.
Stmt result_nest(const Stmt& init, const Block& reduction, std::string name, const Stmt& body);

/// The block in such a nest.
BlockRV block_of_nest(const Schedule& schedule, NodeId nest);

}  // namespace loopsmith
