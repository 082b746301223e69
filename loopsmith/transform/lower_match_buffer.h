// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Replaces the views of a block by the buffers that they are views of.
///
///     block: V = match_buffer(A[i*4 : i*4 + 4, j])      block:
///       V[k] = V[k] + 1                             =>    A[i*4 + k, j] = A[i*4 + k, j] + 1
///
/// Variables in the shape, strides and offset of a view take their values from the region; what is
/// not a variable must agree with it.
Ptr<PrimFunc> lower_match_buffer(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
