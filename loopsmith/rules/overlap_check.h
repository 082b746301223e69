// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// The body of `func`, of which `scheduled` is what it does where its arguments are apart:
///
///     if <nothing that is written overlaps another argument>:  scheduled
///     else:                                                    as it is written
///
/// `scheduled` alone where that is promised (`tir.noalias`), or cannot be otherwise.
Stmt with_overlap_check(const PrimFunc& func, const Stmt& scheduled);

}  // namespace loopsmith
