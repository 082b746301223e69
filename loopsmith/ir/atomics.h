// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// The annotation of a parallel loop whose iterations update what they have in common atomically.
inline constexpr std::string_view atomic_updates_key = "atomic_updates";

/// What `T.atomic_max(address, operand)` and its like store where `before` was.
Expr stored_atomically(Op atomic, const Expr& before, const Expr& operand);

}  // namespace loopsmith
