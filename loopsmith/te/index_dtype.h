// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith::te {

/// The function with loop variables, axes, sizes and indices of type `dtype` (int32 or int64).
/// Values that are stored keep their types.
Ptr<PrimFunc> with_index_dtype(const Ptr<PrimFunc>& func, DataType dtype);

}  // namespace loopsmith::te
