// SPDX-License-Identifier: Apache-2.0
// A block that moves inside of loops which others share with it.
#pragma once
#include "loopsmith/schedule/new_place.h"

namespace loopsmith {

/// The loops around both of two nodes in different statements, outermost first.
Handles<LoopRV> shared_loops(const Schedule& schedule, NodeId a, NodeId b);

/// True when an iteration of the loops that a block shares with the loop that it moves to runs no
/// instances of it there that it did not run before.
bool keeps_iterations(const Schedule& schedule, BlockRV block, LoopRV loop, const NewPlace& place);

/// True when an iteration of these loops runs all instances of the block there that it ran before.
bool keeps_instances(const Schedule& schedule, BlockRV block, LoopRV loop, const NewPlace& place);

/// True when a read touches, in an iteration of the loops that it shares with a write, only what
/// that writes in the same iteration.
bool reads_of_its_iteration(const Schedule& schedule, const BufferUse& read,
                            const BufferUse& write);

}  // namespace loopsmith
