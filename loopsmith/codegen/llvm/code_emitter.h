// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>

#include "loopsmith/codegen/processor.h"

namespace llvm {
class Module;
class Target;
class TargetMachine;
}  // namespace llvm

namespace loopsmith::detail {

/// LLVM's back end for a triple; initialises it the first time. Throws a UserError where this build
/// has none.
const llvm::Target& llvm_target(const std::string& triple);

/// Turns modules of LLVM's IR into machine code for one processor. Belongs to one thread.
///
/// It keeps LLVM's description of the processor and its list of code generation passes, which cost
/// more to make than a small kernel to compile.
class CodeEmitter {
 public:
  CodeEmitter(Processor processor, int opt_level);
  ~CodeEmitter();
  CodeEmitter(const CodeEmitter&) = delete;
  CodeEmitter& operator=(const CodeEmitter&) = delete;

  const Processor& processor() const { return processor_; }
  int opt_level() const { return opt_level_; }
  llvm::TargetMachine& target_machine() { return *target_machine_; }

  /// Improves the module's functions in place.
  void optimize(llvm::Module& module);
  /// The object file of the module, alive until the next call. The module is spent.
  std::span<const char> object(llvm::Module& module);
  /// The assembly text of the module, which is spent.
  std::string assembly(llvm::Module& module);

 private:
  struct CodePasses;

  Processor processor_;
  int opt_level_;
  std::unique_ptr<llvm::TargetMachine> target_machine_;
  std::unique_ptr<CodePasses> scheduling_passes_;
  std::unique_ptr<CodePasses> plain_passes_;       ///< For long blocks.
  std::unique_ptr<CodePasses> unprepared_passes_;  ///< For blocks of thousands of instructions.
};

/// This thread's machine for the processor and level that `target` names.
CodeEmitter& code_emitter_for(const Target& target);

}  // namespace loopsmith::detail
