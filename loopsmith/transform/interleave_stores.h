// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes one store of vectors that follow each other into elements that are as far apart as there
/// are vectors, as the members of records are:
///
///     A[ramp(2 * b, 2, 8)] = x            A[ramp(2 * b, 1, 16)] = x and y, lane by lane
///     A[ramp(2 * b + 1, 2, 8)] = y   =>
///
/// What is stored later reads nothing that is stored before it. Stores under masks stay, and, where
/// the code is for a device, all of them do: vectors have to be aligned there.
Ptr<PrimFunc> interleave_stores(const Ptr<PrimFunc>& func, bool is_for_device = false);

}  // namespace loopsmith
