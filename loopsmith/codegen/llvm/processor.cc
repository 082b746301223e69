// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/processor.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "loopsmith/codegen/llvm/code_emitter.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string join(std::vector<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ',';
    text += part;
  }
  return text;
}

/// The features of this machine's processor, sorted, so that equal machines give equal code.
std::string host_features() {
  std::vector<std::string> features;
  for (const auto& [name, present] : llvm::sys::getHostCPUFeatures()) {
    features.push_back((present ? '+' : '-') + name.str());
  }
  std::ranges::sort(features);
  return join(std::move(features));
}

const Processor& host() {
  static const Processor processor{llvm::sys::getDefaultTargetTriple(),
                                   llvm::sys::getHostCPUName().str(), host_features()};
  return processor;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget_of(const Processor& processor) {
  const llvm::Triple triple(processor.triple);
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      detail::llvm_target(processor.triple)
          .createMCSubtargetInfo(triple, processor.cpu, processor.features));
}

void require_known(const std::string& feature, const Processor& processor) {
  const auto all = subtarget_of(processor)->getAllProcessorFeatures();
  const bool has_sign = feature.starts_with('+') || feature.starts_with('-');
  const bool known = has_sign && std::ranges::any_of(all, [&](const auto& entry) {
                       return feature.substr(1) == std::string_view(entry.Key);
                     });
  require(known, "unknown_processor_feature", hint("write e.g. -mattr=+avx512f,-fma"),
          "target: '{}' is not a feature of {} processors", feature,
          processor.triple.substr(0, processor.triple.find('-')));
}

/// What every processor of an architecture is; of RISC-V, what Linux asks for.
Processor baseline(const std::string& triple) {
  const llvm::Triple parsed(triple);
  if (parsed.isAArch64()) return {triple, "generic", ""};
  if (parsed.isRISCV()) return {triple, "generic-rv64", "+m,+a,+f,+d,+c"};
  return {triple, "x86-64", ""};
}

/// True when the processor has each of `features`, and its architecture knows them.
bool supports(const llvm::MCSubtargetInfo& subtarget, const std::string& features) {
  const auto all = subtarget.getAllProcessorFeatures();
  for (const std::string& feature : split(features)) {
    const bool known = std::ranges::any_of(
        all, [&](const auto& entry) { return feature.substr(1) == std::string_view(entry.Key); });
    if (!known) return false;
  }
  return subtarget.checkFeatures(features);
}

}  // namespace

std::string llvm_version() {
  return LLVM_VERSION_STRING;
}

unsigned llvm_intrinsic_id(std::string_view name) {
  return llvm::Intrinsic::lookupIntrinsicID(llvm::StringRef(name.data(), name.size()));
}

std::string llvm_intrinsic_name(unsigned id) {
  require(id > 0 && id < llvm::Intrinsic::num_intrinsics, "unknown_llvm_intrinsic",
          hint("take a number that its name gives"), "LLVM has no intrinsic of number {}", id);
  return llvm::Intrinsic::getBaseName(static_cast<llvm::Intrinsic::ID>(id)).str();
}

Processor processor_of(const Target& target) {
  check(target.kind() == TargetKind::llvm, "processor_of", "the target is {}", target.text());
  Processor processor = host();
  const Processor least = baseline(target.get("mtriple", processor.triple));
  const std::string cpu = target.get("mcpu", least.cpu);
  if (cpu == "native") {
    require(target.get("mtriple", processor.triple) == processor.triple, "native_has_own_triple",
            hint("name the processor with -mcpu, or leave -mtriple out"),
            "target: -mcpu=native is this machine, {}, not {}", processor.triple,
            target.get("mtriple"));
  } else {
    processor = {least.triple, cpu, least.features};
    // An empty subtarget first: LLVM prints a warning for a processor that it does not know.
    const auto subtarget = subtarget_of({processor.triple, "", ""});
    require(subtarget->isCPUStringValid(cpu), "unknown_processor",
            hint("use native, or a name that `llc -mcpu=help` lists"),
            "target: '{}' is not a processor of {}", cpu, processor.triple);
  }
  std::vector<std::string> features = split(processor.features);
  for (const std::string& feature : split(target.get("mattr"))) {
    require_known(feature, {processor.triple, "", ""});
    features.push_back(feature);
  }
  processor.features = join(std::move(features));
  return processor;
}

bool is_foreign(const Target& target) {
  const llvm::Triple triple(processor_of(target).triple);
  return triple.getArch() != llvm::Triple(host().triple).getArch();
}

bool host_has_instructions_of(const Target& target) {
  if (processor_of(target) == host()) return true;
  const llvm::MCSubtargetInfo& subtarget =
      *detail::code_emitter_for(target).target_machine().getMCSubtargetInfo();
  for (const auto& [name, present] : llvm::sys::getHostCPUFeatures()) {
    if (!present && supports(subtarget, "+" + name.str())) return false;
  }
  return true;
}

bool has_features(const Target& target, const std::string& features) {
  // The machine's own subtarget, because a new one takes LLVM 0.2 ms.
  return supports(*detail::code_emitter_for(target).target_machine().getMCSubtargetInfo(),
                  features);
}

int x86_vector_bits(const Target& target) {
  const llvm::TargetMachine& machine = detail::code_emitter_for(target).target_machine();
  if (!machine.getTargetTriple().isX86()) return 0;
  const llvm::MCSubtargetInfo& subtarget = *machine.getMCSubtargetInfo();
  if (supports(subtarget, "+avx512f")) return 512;
  return supports(subtarget, "+avx") ? 256 : 128;
}

int preferred_vector_bits(const Target& target) {
  if (const std::int64_t bits = target.get_int("vector-width", 0); bits > 0) {
    return static_cast<int>(bits);
  }
  const llvm::TargetMachine& machine = detail::code_emitter_for(target).target_machine();
  const llvm::MCSubtargetInfo& subtarget = *machine.getMCSubtargetInfo();
  const auto has = [&](const char* feature) { return supports(subtarget, feature); };
  // Intel's servers from Sapphire Rapids on, which alone have these two; AMD's from Zen 4 on.
  const bool at_full_rate =
      has("+avx512fp16") || has("+amx-tile") || machine.getTargetCPU().starts_with("znver");
  if (has("+avx512f,+avx512vl,+avx512bw,+avx512dq") && at_full_rate) return 512;
  return has("+avx") ? 256 : 128;
}

}  // namespace loopsmith
