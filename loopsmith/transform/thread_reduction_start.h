// SPDX-License-Identifier: Apache-2.0
// Where a reduction over threads has its init.
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/transform/thread_reduction_form.h"

namespace loopsmith {

/// The loops of a reduction that are done at once: those over threads, outermost first, and those
/// inside that each thread does for itself.
std::vector<Ptr<For>> reduced_loops(const ThreadReduction& reduction);

/// The condition under which the init of the reduction is among the iterations of these loops:
/// loops around may take part in the reduction, too, and a predicate may leave its start out. It is
/// about what is around the threads, and memory. Nullopt where the axes do not tell.
std::optional<Expr> start_condition(const ThreadReduction& reduction);

}  // namespace loopsmith
