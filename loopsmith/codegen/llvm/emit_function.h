// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

/// The symbol of the code of the function of that name.
std::string entry_symbol(const std::string& name);

/// Adds the code of `func`, an ls_packed_function of the name that entry_symbol gives.
void emit_function(ModuleEmitter& module, const PrimFunc& func);

}  // namespace loopsmith::detail
