// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/code_emitter.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <vector>

#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// Makes the back end of an architecture known, the first time that it is asked for.
void initialize_back_end(const llvm::Triple& triple) {
  if (triple.isX86()) {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86AsmPrinter();
      LLVMInitializeX86AsmParser();
    });
  } else if (triple.isAArch64()) {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
    });
  } else if (triple.isRISCV()) {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeRISCVTargetInfo();
      LLVMInitializeRISCVTarget();
      LLVMInitializeRISCVTargetMC();
      LLVMInitializeRISCVAsmPrinter();
    });
  }
}

llvm::CodeGenOptLevel codegen_level(int opt_level) {
  if (opt_level <= 0) return llvm::CodeGenOptLevel::None;
  return opt_level <= 2 ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Aggressive;
}

}  // namespace

const llvm::Target& llvm_target(const std::string& triple) {
  const llvm::Triple parsed(triple);
  initialize_back_end(parsed);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(parsed, error);
  require(target != nullptr && parsed.isArch64Bit(), "unknown_triple",
          hint("name a machine of x86_64, aarch64 or riscv64, as in aarch64-linux-gnu"),
          "target: there is no code generator for '{}'", triple);
  return *target;
}

/// The passes of LLVM that short compilations do without. `step_addresses` stands for its strength
/// reduction, and what that asks for. The others look for what our code never has (exceptions,
/// thread-local memory, garbage collection, hardening, instrumentation), or change nothing in loops
/// that a schedule has shaped. A name that LLVM changes costs time, no more.
constexpr std::string_view left_out[] = {
    "Analyze Machine Code For Garbage Collection",
    "Canonicalize Freeze Instructions in Loops",
    "Check CFA info and insert CFI instructions if needed",
    "Constant Hoisting",
    "Contiguously Lay Out Funclets",
    "Early Tail Duplication",
    "Exception handling preparation",
    "Expand IR instructions",
    "Expand indirectbr instructions",
    "Expand memcmp() to load/stores",
    "Fixup Statepoint Caller Saved",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "Insert XRay ops",
    "Insert fentry calls",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Live DEBUG_VALUE analysis",
    "Local Dynamic TLS Access Clean-up",
    "Loop Strength Reduction",
    "Lower Garbage Collection Instructions",
    "Machine Late Instructions Cleanup Pass",
    "Machine Sanitizer Binary Metadata",
    "Merge contiguous icmps into a memcmp",
    "Merge disjoint stack slots",
    "ObjC ARC contraction",
    "Partially inline calls to library functions",
    "Post RA top-down list latency scheduler",
    "PostRA Machine Sink",
    "Prepare callbr",
    "Pseudo Probe Inserter",
    "Register Allocation Pass Scoring",
    "Remove Loads Into Fake Uses",
    "Remove Redundant DEBUG_VALUE analysis",
    "Replace intrinsics with calls to vector library",
    "Safe Stack instrumentation pass",
    "Shadow Stack GC Lowering",
    "Shrink Wrapping analysis",
    "Stack Frame Layout Analysis",
    "StackMap Liveness Analysis",
    "Tail Duplication",
    "X86 Atom pad short functions",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 LEA Optimize",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Optimize Call Frame",
    "X86 Return Thunks",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 cmov Conversion",
    "X86 speculative load hardening",
};

/// Code that takes LLVM's passes longer than its length says, by its longest block.
///
/// The time of the scheduler grows with the square of that: half of the time of a block of so many
/// instructions, and minutes for one of 20,000. The preparation numbers all of a block anew for
/// each address that it moves: the cube, from some thousands on. Such code is far from a loop that
/// a schedule shaped.
constexpr std::size_t max_scheduled = 500, max_prepared = 4000;

std::size_t longest_block(const llvm::Module& module) {
  std::size_t longest = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) longest = std::max(longest, block.size());
  }
  return longest;
}

/// Takes LLVM's list of passes, but for those, and for what code of so long blocks goes without.
class ShortList : public llvm::legacy::PassManagerBase {
 public:
  ShortList(llvm::legacy::PassManagerBase& passes, bool is_thorough, std::size_t longest)
      : passes_(passes), is_thorough_(is_thorough), longest_(longest) {}
  void add(llvm::Pass* pass) override {
    const std::string_view name = pass->getPassName();
    if ((!is_thorough_ && std::ranges::binary_search(left_out, name)) ||
        (longest_ > max_prepared && name == "CodeGen Prepare")) {
      delete pass;
    } else {
      passes_.add(pass);
    }
  }

 private:
  llvm::legacy::PassManagerBase& passes_;
  bool is_thorough_;
  std::size_t longest_;
};

static_assert(std::ranges::is_sorted(left_out));

/// The passes that write an object file or assembly. Those for objects are made once and run on
/// many modules; LLVM does not promise that this works, so compile_test compares with fresh ones.
struct CodeEmitter::CodePasses {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream{bytes};
  llvm::legacy::PassManager passes;
  ShortList shorter;  ///< `config` adds by it, also when it is done.

  /// LLVM's own list for modules whose longest block has so many instructions.
  CodePasses(llvm::TargetMachine& machine, llvm::CodeGenFileType type, std::size_t longest)
      : shorter(passes, machine.getOptLevel() > llvm::CodeGenOptLevel::Less, longest) {
    auto* config = machine.createPassConfig(shorter);
    config->setDisableVerify(true);
    if (longest > max_scheduled) config->disablePass(&llvm::MachineSchedulerID);
    passes.add(config);
    auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);
    passes.add(info);
    check(!config->addISelPasses(), "codegen", "no instructions for this target");
    config->addMachinePasses();
    config->setInitialized();
    const bool failed =
        machine.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext());
    check(!failed, "codegen", "LLVM writes no code for this target");
    passes.add(llvm::createFreeMachineFunctionPass());
  }

  std::span<const char> run(llvm::Module& module) {
    bytes.clear();
    passes.run(module);
    return {bytes.data(), bytes.size()};
  }
};

CodeEmitter::CodeEmitter(Processor processor, int opt_level)
    : processor_(std::move(processor)), opt_level_(opt_level) {
  const llvm::Triple triple(processor_.triple);
  llvm::TargetOptions options;
  // How Linux calls functions there.
  if (triple.isRISCV()) options.MCOptions.ABIName = "lp64d";
  // A short loop that crosses a line of decoded instructions takes a cycle more for an iteration.
  if (triple.isX86()) options.LoopAlignment = 32;
  target_machine_.reset(llvm_target(processor_.triple)
                            .createTargetMachine(triple, processor_.cpu, processor_.features,
                                                 options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                 codegen_level(opt_level_)));
  check(target_machine_ != nullptr, "codegen", "no target machine for {}", processor_.triple);
}

CodeEmitter::~CodeEmitter() = default;

std::span<const char> CodeEmitter::object(llvm::Module& module) {
  const std::size_t longest = longest_block(module);
  std::unique_ptr<CodePasses>& passes = longest > max_prepared    ? unprepared_passes_
                                        : longest > max_scheduled ? plain_passes_
                                                                  : scheduling_passes_;
  if (!passes) {
    passes =
        std::make_unique<CodePasses>(*target_machine_, llvm::CodeGenFileType::ObjectFile, longest);
  }
  return passes->run(module);
}

std::string CodeEmitter::assembly(llvm::Module& module) {
  CodePasses passes(*target_machine_, llvm::CodeGenFileType::AssemblyFile, longest_block(module));
  const std::span<const char> text = passes.run(module);
  return {text.begin(), text.end()};
}

CodeEmitter& code_emitter_for(const Target& target) {
  constexpr std::size_t max_kept = 4;
  thread_local std::vector<std::pair<Target, std::unique_ptr<CodeEmitter>>> machines;
  for (auto& [known, machine] : machines) {
    if (known == target) return *machine;
  }
  auto machine = std::make_unique<CodeEmitter>(processor_of(target),
                                               static_cast<int>(target.get_int("opt-level", 2)));
  if (machines.size() == max_kept) machines.erase(machines.begin());
  machines.emplace_back(target, std::move(machine));
  return *machines.back().second;
}

}  // namespace loopsmith::detail
