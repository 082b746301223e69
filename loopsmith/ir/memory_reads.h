// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/node.h"

namespace loopsmith {

/// True when a value in `node` may change between two statements: it loads, or a call in it is not
/// pure.
bool reads_memory(const Ref& node);

}  // namespace loopsmith
