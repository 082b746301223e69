// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/Module.h>

#include "loopsmith/codegen/code_request.h"

namespace loopsmith::detail {

/// Links the code that the functions of a request import into their module: LLVM's IR as it is, C
/// as clang compiles it. Its functions are seen by this module alone. Throws a UserError where the
/// code is wrong, or clang is missing.
void link_imports(llvm::Module& module, const CodeRequest& request);

}  // namespace loopsmith::detail
