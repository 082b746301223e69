// SPDX-License-Identifier: Apache-2.0
// A block with an init, written as two.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The body of a scope in which the init of a block, by what a step reported of it, is a block of
/// its own at the same place; null where what was reported does not do the init.
///
/// Equality, from docs/semantics.md: the init of a block runs right before its body in each
/// instance in which all reduction axes are at the start of their domains; and if a domain is
/// empty, where arith::EmptyReductions says. So a block that does the init under that condition,
/// right before one that has the body, and in the other places, is the same program. What moves the
/// init from there to elsewhere is a matter of the order of instances.
Stmt with_init_apart(const Schedule& before, const Schedule& after, NodeId scope,
                     const PartedBlock& parted);

}  // namespace loopsmith
