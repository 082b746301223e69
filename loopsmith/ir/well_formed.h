// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// Throws a UserError that names what is wrong and shows where, unless: each variable and buffer is
/// used inside the scope of its definition; none is defined twice (threads may be, and functions of
/// a module share none); a block with axes reads no loop variable from around it; `break` and
/// `continue` stand in a loop; each `return` fits the function's type.
void verify_well_formed(const Ptr<PrimFunc>& func);
void verify_well_formed(const Ptr<IRModule>& module);

bool is_well_formed(const Ptr<PrimFunc>& func);
bool is_well_formed(const Ptr<IRModule>& module);

}  // namespace loopsmith
