// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

/// For each function, one that hosts in C call, by its name: it checks its arguments and calls the
/// code. With the constant `ls_metadata`.
void emit_exports(ModuleEmitter& module, const CodeRequest& request);

}  // namespace loopsmith::detail
