// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Declares buffers that `func` uses and declares nowhere, where their pointers are defined: by an
/// Allocate, an AllocateConst, a LetStmt, a parameter. Others stay as they are, and are undefined.
///
///     p = T.allocate([8], "float32")               p = T.allocate([8], "float32")
///     B[i] = A[i]                             =>   B = T.decl_buffer((8,), data=p)
///                                                  B[i] = A[i]
Ptr<PrimFunc> declare_buffers(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
