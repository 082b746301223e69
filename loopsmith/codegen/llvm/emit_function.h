// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

/// Adds the code of `func`, an ls_packed_function called entry_symbol(name).
void emit_function(ModuleEmitter& module, const PrimFunc& func);

}  // namespace loopsmith::detail
