// SPDX-License-Identifier: Apache-2.0
// Dependences between iterations of a loop that affine forms alone rule out.
#pragma once
#include "loopsmith/schedule/queries/access_relations.h"

namespace loopsmith {

/// True when the dependence distance along `var`, which advances by `step`, is 0: whenever `a` and
/// `b` access one element, they have the same value of it. False proves nothing.
bool has_zero_distance(const ElementAccesses& accesses, const ElementAccess& a,
                       const ElementAccess& b, const Var& var, std::int64_t step = 1);

}  // namespace loopsmith
