// SPDX-License-Identifier: Apache-2.0
// Accumulations that iterations of a loop make together: whether they may run concurrently, and
// what the loop records of them for lowering, see regroups.h.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/schedule/legality/legality.h"

namespace loopsmith {

/// The buffers into which iterations of a loop, which conflict over accumulations alone, accumulate
/// together: in any order and in any groups. Nullopt where they have to keep their order. `planned`
/// is the loop with the kind and the annotations that it is to have.
///
/// Lowering makes partial results, or atomic updates, of just these.
std::optional<std::vector<Ptr<Buffer>>> regrouped_by(const Schedule& schedule, LoopRV loop,
                                                     const For& planned);

/// True when iterations of a loop, which conflict over accumulations alone, may run concurrently:
/// lanes combine theirs at the end.
bool may_reduce_concurrently(const Schedule& schedule, LoopRV loop, const For& planned);

/// True when all these accumulations are atomic updates.
bool updates_atomically(const Schedule& schedule, LoopRV loop, const For& planned);

/// The function that is worked on, and all of them, as they leave the schedule: loops record what
/// the steps have proved of them.
Ptr<PrimFunc> recorded_func(const Schedule& schedule);
Ptr<IRModule> recorded_mod(const Schedule& schedule);

}  // namespace loopsmith
