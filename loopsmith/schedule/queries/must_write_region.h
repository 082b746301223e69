// SPDX-License-Identifier: Apache-2.0
// Must-write regions: elements that a piece of a program is certain to store to.
#pragma once
#include "loopsmith/schedule/queries/affine_region.h"

namespace loopsmith {

/// The box of the elements that the statement `from` stores to, if it is certain to store to all of
/// them whenever it is run.
std::optional<AffineRegion> must_write_region(const Schedule& schedule, NodeId from,
                                              const Ptr<Buffer>& buffer);

/// True when `from`, whenever it is run, stores to `buffer` with every combination of values of
/// `axes` in their domains.
bool stores_throughout(const Schedule& schedule, NodeId from, const Ptr<Buffer>& buffer,
                       const std::vector<Ptr<IterVar>>& axes);

}  // namespace loopsmith
