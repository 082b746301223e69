// SPDX-License-Identifier: Apache-2.0
// Where the init of a reduction would run more than once, or later than it did.
#pragma once
#include <span>

#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// True when different iterations of `band`, or of loops inside of them, may run one instance of a
/// reduction twice, or several that write one element: then an init may come between updates.
bool repeats_reductions(const Schedule& schedule, std::span<const LoopRV> band);

/// True when a reduction inside of the loop may start in another of its instances than the first:
/// then what these did before is forgotten.
bool starts_late(const Schedule& schedule, LoopRV loop);

/// True when the instance that starts a reduction may no longer be the first of its instances:
/// loops that change their order are bound to axes of both kinds at once, or it was not the first.
bool delays_init(const Schedule& schedule, std::span<const LoopRV> band,
                 std::span<const std::size_t> order);

}  // namespace loopsmith
