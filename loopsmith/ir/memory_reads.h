// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// True when a value in `node` may change between two statements: it loads, or a call in it is not
/// pure.
bool reads_memory(const Ref& node);

/// True when the expression loads from the buffer, or from a view of its memory.
bool loads_from(const Expr& expr, const Ptr<Buffer>& buffer);

}  // namespace loopsmith
