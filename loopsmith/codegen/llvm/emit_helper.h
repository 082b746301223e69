// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

/// Emits the functions that others of the module call, each as
/// `int32 helper(context, place of the value, arguments...)`, which gives a status.
void emit_helpers(ModuleEmitter& module, const std::vector<Ptr<PrimFunc>>& helpers);

}  // namespace loopsmith::detail
