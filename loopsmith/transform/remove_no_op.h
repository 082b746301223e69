// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Drops what does nothing: names that are not used, stores of an element to its own place, stores
/// to memory that is never read, evaluations without an effect, and the loops and branches that are
/// empty then.
Ptr<PrimFunc> remove_no_op(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
