// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/compile.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "loopsmith/codegen/llvm/code_emitter.h"
#include "loopsmith/codegen/llvm/debug_lines.h"
#include "loopsmith/codegen/llvm/emit_export.h"
#include "loopsmith/codegen/llvm/emit_function.h"
#include "loopsmith/codegen/llvm/emit_helper.h"
#include "loopsmith/codegen/llvm/emit_module.h"
#include "loopsmith/codegen/llvm/link_imports.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

std::unique_ptr<llvm::Module> detail::emit_module(const CodeRequest& request, CodeEmitter& machine,
                                                  llvm::LLVMContext& context,
                                                  const StatementLines* lines, LineTable table) {
  auto module = std::make_unique<llvm::Module>("loopsmith", context);
  module->setTargetTriple(machine.target_machine().getTargetTriple());
  module->setDataLayout(machine.target_machine().createDataLayout());
  ModuleEmitter emitter(*module, request.floats, x86_vector_bits(request.target));
  std::optional<DebugLines> debug;
  if (lines) emitter.debug = &debug.emplace(*module, *lines, table);
  emit_helpers(emitter, request.helpers);
  for (const Ptr<PrimFunc>& func : request.functions) emit_function(emitter, *func);
  if (request.exported) emit_exports(emitter, request);
  link_imports(*module, request);
  if (debug) debug->finish();
#ifdef LOOPSMITH_INTERNAL_CHECKS
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  check(!llvm::verifyModule(*module, &stream), "codegen", "LLVM's IR is wrong: {}", problems);
#endif
  machine.optimize(*module);
  return module;
}

std::vector<char> compile_object(const CodeRequest& request, const StatementLines* lines) {
  detail::CodeEmitter& machine = detail::code_emitter_for(request.target);
  llvm::LLVMContext context;
  const auto module =
      detail::emit_module(request, machine, context, lines, detail::LineTable::in_object);
  const std::span<const char> object = machine.object(*module);
  return {object.begin(), object.end()};
}

std::string llvm_text(const CodeRequest& request) {
  llvm::LLVMContext context;
  const auto module =
      detail::emit_module(request, detail::code_emitter_for(request.target), context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

std::string assembly_text(const CodeRequest& request) {
  detail::CodeEmitter& machine = detail::code_emitter_for(request.target);
  llvm::LLVMContext context;
  return machine.assembly(*detail::emit_module(request, machine, context));
}

}  // namespace loopsmith
