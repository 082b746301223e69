// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/link_imports.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "loopsmith/codegen/imports.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// LLVM's IR of a piece of C.
std::string llvm_of_c(const ImportedCode& code, const llvm::Module& module) {
  std::string clang;
  for (const char* name : {"clang-22", "clang"}) {
    const auto found = llvm::sys::findProgramByName(name);
    if (clang.empty() && found) clang = *found;
  }
  require(!clang.empty(), ErrorKind::lower, "clang_is_found",
          hint("put clang on the path, import LLVM's IR by pragma_import_llvm, or build for "
               "target c"),
          code.span, "pragma_import_c: C becomes part of LLVM's code by clang, which is not there");
  const TemporaryFolder folder;
  folder.write("imported.c", code.text);
  try {
    folder.run({clang, "-O2", "-fPIC", "-S", "-emit-llvm",
                "--target=" + module.getTargetTriple().str(), "imported.c", "-o", "imported.ll"});
  } catch (const UserError& error) {
    require(false, ErrorKind::lower, "imported_code_is_right", hint("mend the code"), code.span,
            "pragma_import_c: {}", error.problem());
  }
  const std::vector<char> text = folder.read("imported.ll");
  return {text.begin(), text.end()};
}

void link(llvm::Module& module, const std::string& text, std::string_view pragma,
          const Span& span) {
  const auto demand = [&](bool condition, std::string_view what) {
    require(condition, ErrorKind::lower, "imported_code_is_right",
            hint("import what `clang -S -emit-llvm` writes for this machine"), span, "{}: {}",
            pragma, what);
  };
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> imported =
      llvm::parseAssemblyString(text, problem, module.getContext());
  demand(imported != nullptr,
         fmt::format("line {}: {}", problem.getLineNo(), problem.getMessage().str()));
  std::string said;
  llvm::raw_string_ostream stream(said);
  demand(!llvm::verifyModule(*imported, &stream), said);
  const llvm::Triple& triple = imported->getTargetTriple();
  demand(
      triple.empty() || triple.getArch() == module.getTargetTriple().getArch(),
      fmt::format("it is for {}, the target is {}", triple.str(), module.getTargetTriple().str()));
  imported->setTargetTriple(module.getTargetTriple());
  imported->setDataLayout(module.getDataLayout());
  std::vector<std::string> names;
  for (llvm::Function& function : *imported) {
    if (function.isDeclaration()) continue;
    names.push_back(function.getName().str());
    const llvm::Function* known = module.getFunction(names.back());
    demand(!known || known->isDeclaration(),
           fmt::format("function {} is there already", names.back()));
    demand(!known || known->getFunctionType() == function.getFunctionType(),
           fmt::format("function {} takes or gives other types than its call says", names.back()));
    // Code for the processor of the module, whatever compiled it.
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"}) {
      function.removeFnAttr(attribute);
    }
  }
  demand(!llvm::Linker::linkModules(module, std::move(imported)), "it cannot be linked");
  for (const std::string& name : names) {
    module.getFunction(name)->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

}  // namespace

void link_imports(llvm::Module& module, const CodeRequest& request) {
  for (const ImportedCode& code : imported_code(request, import_c)) {
    link(module, llvm_of_c(code, module), import_c, code.span);
  }
  for (const ImportedCode& code : imported_code(request, import_llvm)) {
    link(module, code.text, import_llvm, code.span);
  }
}

}  // namespace loopsmith::detail
