// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// True for what costs nothing each time that it is read, so that no variable keeps it.
inline bool is_leaf(const Expr& expr) {
  return expr.is<IntImm>() || expr.is<FloatImm>() || expr.is<StringImm>() || expr.is<Var>();
}

}  // namespace loopsmith
