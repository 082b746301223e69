// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Makes each access one-dimensional: strides and offsets are worked into the index.
///
///     A[i, j]   =>   A[i*m + j]          (A of shape [n, m])
///
/// A buffer with axis separators keeps one index for each group of dimensions. A buffer that is
/// flat already stays as it is; of the others, a flat one over the same pointer is declared, at the
/// top of the body for parameters. An index is computed in 64 bits unless the buffer is known to
/// have fewer than 2^31 elements, and is simple if those that it is made of are.
Ptr<PrimFunc> flatten_buffers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
