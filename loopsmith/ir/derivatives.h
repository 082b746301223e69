// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// The partial derivatives of a call of an intrinsic by its arguments, one each; null where it is
/// 0. Nothing for an intrinsic that has none, as it is no function of numbers, or is not known.
/// Where a function has no derivative, at a jump or a kink, one from either side is given.
std::optional<std::vector<Expr>> partial_derivatives(const Expr& call);

/// True when `partial_derivatives` knows the intrinsic.
bool has_derivatives(Op op);

}  // namespace loopsmith
