// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/int_set.h"

namespace loopsmith {

/// The values of `var` with which `condition` holds for all values that the variables of `relaxed`
/// take; the sets of `hints` tell the signs of symbolic factors.
///
/// The condition is one comparison (not `!=`) in which `var` occurs once, under + - * and floordiv
/// only. For anything else, and where no value will do, the result is the empty set.
IntSet deduce_bound(const Ptr<Var>& var, const Expr& condition, const Domains& hints,
                    const Domains& relaxed);

}  // namespace loopsmith
