// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith::tune::testing {

/// A product of matrices, 48 x 32 by 32 x 64, in one block.
Ptr<PrimFunc> product();
/// Twice a matrix of a symbolic number of rows, `m`, and 64 columns.
Ptr<PrimFunc> doubled_rows();

}  // namespace loopsmith::tune::testing
