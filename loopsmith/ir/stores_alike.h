// SPDX-License-Identifier: Apache-2.0
// Stores that all iterations of a loop do alike.
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// True when all iterations of `loop` store the same into the same elements of `buffer`, at the
/// same time if they go in step: then lanes need no memory of their own for it, and threads may
/// share what they all fill.
bool stores_alike(const For& loop, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
