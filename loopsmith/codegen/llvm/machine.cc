// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/machine.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>
#include <vector>

#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

void initialize_back_ends() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
}

llvm::CodeGenOptLevel codegen_level(int opt_level) {
  if (opt_level <= 0) return llvm::CodeGenOptLevel::None;
  return opt_level <= 2 ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Aggressive;
}

}  // namespace

const llvm::Target& llvm_target(const std::string& triple) {
  initialize_back_ends();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
  require(target != nullptr, "unknown_triple", hint("this build generates code for x86 alone"),
          "target: there is no code generator for '{}'", triple);
  return *target;
}

/// The passes that write an object file, made once and run on many modules. LLVM does not promise
/// that this works; compile_test compares the objects with those of fresh passes.
struct Machine::ObjectPasses {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream{bytes};
  llvm::legacy::PassManager passes;
};

Machine::Machine(Processor processor, int opt_level)
    : processor_(std::move(processor)), opt_level_(opt_level) {
  const llvm::Triple triple(processor_.triple);
  target_machine_.reset(llvm_target(processor_.triple)
                            .createTargetMachine(triple, processor_.cpu, processor_.features,
                                                 llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                 llvm::CodeModel::Small,
                                                 codegen_level(opt_level_)));
  check(target_machine_ != nullptr, "codegen", "no target machine for {}", processor_.triple);
}

Machine::~Machine() = default;

std::span<const char> Machine::object(llvm::Module& module) {
  if (!object_passes_) {
    auto made = std::make_unique<ObjectPasses>();
    const bool failed = target_machine_->addPassesToEmitFile(made->passes, made->stream, nullptr,
                                                             llvm::CodeGenFileType::ObjectFile,
                                                             /*DisableVerify=*/true);
    check(!failed, "codegen", "LLVM writes no object files for {}", processor_.triple);
    object_passes_ = std::move(made);
  }
  object_passes_->bytes.clear();
  object_passes_->passes.run(module);
  return {object_passes_->bytes.data(), object_passes_->bytes.size()};
}

std::string Machine::assembly(llvm::Module& module) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  const bool failed = target_machine_->addPassesToEmitFile(
      passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile, /*DisableVerify=*/true);
  check(!failed, "codegen", "LLVM writes no assembly for {}", processor_.triple);
  passes.run(module);
  return {text.data(), text.size()};
}

Machine& machine_for(const Target& target) {
  constexpr std::size_t most_kept = 4;
  thread_local std::vector<std::pair<Target, std::unique_ptr<Machine>>> machines;
  for (auto& [known, machine] : machines) {
    if (known == target) return *machine;
  }
  auto machine = std::make_unique<Machine>(processor_of(target),
                                           static_cast<int>(target.get_int("opt-level", 2)));
  if (machines.size() == most_kept) machines.erase(machines.begin());
  machines.emplace_back(target, std::move(machine));
  return *machines.back().second;
}

}  // namespace loopsmith::detail
