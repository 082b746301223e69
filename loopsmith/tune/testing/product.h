// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith::tune::testing {

/// A product of matrices, 48 x 32 by 32 x 64, in one block.
Ptr<PrimFunc> product();

}  // namespace loopsmith::tune::testing
