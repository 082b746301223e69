// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Turns a Select into if_then_else where a value that is not chosen may fault: a load that is not
/// proved to be inside its buffer, or a call with an effect.
///
///     Select(i > 0, A[i - 1], 0)   =>   if_then_else(i > 0, A[i - 1], 0)
Ptr<PrimFunc> rewrite_unsafe_select(const Ptr<PrimFunc>& func);

}  // namespace loopsmith
