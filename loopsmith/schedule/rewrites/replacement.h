// SPDX-License-Identifier: Apache-2.0
// The body of a scope with some of its statements written otherwise, without a change of the
// schedule: what a step is compared with.
#pragma once
#include <unordered_map>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The body of a scope: of a block, or of a function.
const Stmt& body_of_scope(const Schedule& schedule, NodeId scope);

/// Statements of a body that are replaced, by what stands in the place of each.
using Replacements = std::unordered_map<const Object*, Stmt>;

/// Replaces statements between a scope and its blocks; what is inside of blocks, or of what is
/// replaced, stays.
Stmt with_replaced(const Stmt& body, const Replacements& by);

/// A statement that does nothing.
Stmt no_statement();

}  // namespace loopsmith
