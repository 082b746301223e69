// SPDX-License-Identifier: Apache-2.0
// The blocks of a kernel, which run in any order from its beginning to its end.
#pragma once
#include <optional>

#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// Why the blocks of a kernel may not run a loop that is bound to them and has other loops of the
/// kernel around it, or statements beside it.
///
/// Theorem. Blocks do not wait for each other. A loop over blocks runs its iterations as if it
/// stood around the kernel: those that have different blocks are in no order, whatever iterations
/// of the loops around them they are in, and whatever statements they belong to. So they may run if
/// that loop, put around the kernel and with each loop over the same axis doing one iteration
/// inside, carries no dependence but accumulations that its loops are known to regroup. Where
/// nothing but loops of the launch stand around a loop over blocks, this is what is asked of its
/// own iterations. (A statement beside all loops over the axis is refused when the program is
/// lowered.)
std::optional<Refusal> block_order_conflict_of(const Schedule& schedule, LoopRV loop,
                                               OwnMemory& memory);

/// The same of all loops over blocks in the nest of one that a step binds to an axis of the launch.
std::optional<Refusal> block_order_conflict_around(const Schedule& after, LoopRV bound);

}  // namespace loopsmith
