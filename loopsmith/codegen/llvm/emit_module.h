// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/Module.h>

#include <memory>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"
#include "loopsmith/codegen/llvm/code_emitter.h"
#include "loopsmith/codegen/llvm/debug_lines.h"

namespace loopsmith::detail {

/// The functions as a module of LLVM's IR, which lives in `context`, after LLVM's passes. With
/// `lines`, its instructions are marked with the lines of their statements.
std::unique_ptr<llvm::Module> emit_module(const CodeRequest& request, CodeEmitter& machine,
                                          llvm::LLVMContext& context,
                                          const StatementLines* lines = nullptr,
                                          LineTable table = LineTable::as_directives);

}  // namespace loopsmith::detail
