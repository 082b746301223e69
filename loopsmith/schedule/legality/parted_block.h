// SPDX-License-Identifier: Apache-2.0
// A block whose work is done in two parts, written as two.
#pragma once
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The body of a scope in which a block stands in the parts that a step reported, at the same
/// place; null where these do not do what the block does.
///
/// Equality. An instance of the block is one of the first part and then one of the rest if
///  (init) the first is its init: see init_apart.h; or
///  (fill) the block stores if_then_else(c, v, z), the first stores z there, the rest v where c
///    holds, and c and v read nothing of the memory that is stored to; or
///  (value) the first stores e in an element of memory of its own, and the rest is the block with
///    loads of that element for e, where the block writes nothing that e reads.
/// What moves the first part from there to elsewhere is a matter of the order of instances.
Stmt with_block_in_parts(const Schedule& before, const Schedule& after, NodeId scope,
                         const PartedBlock& parted);

}  // namespace loopsmith
