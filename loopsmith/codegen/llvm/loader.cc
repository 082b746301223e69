// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/loader.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <llvm/ExecutionEngine/JITSymbol.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <optional>
#include <string_view>
#include <vector>

#include "loopsmith/codegen/llvm/registered_code.h"
#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/support/error.h"

// What LLVM calls to convert float16 on processors without instructions for it. They are in the
// compiler's own library, linked into us, where a look-up in the process does not see them.
extern "C" {
float half_to_float(_Float16) __asm__("__extendhfsf2");
_Float16 float_to_half(float) __asm__("__truncsfhf2");
_Float16 double_to_half(double) __asm__("__truncdfhf2");
}

namespace loopsmith {
namespace {

void* find_in_us(const std::string& name) {
  if (name == "__extendhfsf2") return reinterpret_cast<void*>(half_to_float);
  if (name == "__truncsfhf2") return reinterpret_cast<void*>(float_to_half);
  if (name == "__truncdfhf2") return reinterpret_cast<void*>(double_to_half);
  // What exported objects call; ours alike.
  if (name == "ls_check_arguments") return reinterpret_cast<void*>(ls_check_arguments);
  if (name == "ls_default_context") return reinterpret_cast<void*>(ls_default_context);
  return nullptr;
}

llvm::Triple::ArchType own_architecture() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch();
}

}  // namespace

struct LoadedObject::Contents {
  class ProcessSymbols : public llvm::LegacyJITSymbolResolver {
   public:
    llvm::JITSymbol findSymbol(const std::string& name) override {
      void* address = find_in_us(name);
      if (!address) address = dlsym(RTLD_DEFAULT, name.c_str());
      if (!address) missing.push_back(name);
      // With an address, so that all missing ones are found; nothing of the object runs then.
      return {address ? llvm::pointerToJITTargetAddress(address) : llvm::JITTargetAddress{1},
              llvm::JITSymbolFlags::Exported};
    }
    llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }

    std::vector<std::string> missing;
  };

  llvm::SectionMemoryManager memory;
  ProcessSymbols symbols;
  llvm::RuntimeDyld linker{memory, symbols};
  std::optional<detail::RegisteredCode> registered;
};

LoadedObject::LoadedObject(std::span<const char> object, const std::vector<std::string>& loops)
    : contents_(std::make_unique<Contents>()) {
  const llvm::MemoryBufferRef buffer({object.data(), object.size()}, "loopsmith");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) llvm::consumeError(file.takeError());
  require(static_cast<bool>(file) && (*file)->getArch() == own_architecture(), ErrorKind::format,
          "object_is_of_this_machine", hint("export it again, for this machine"), {},
          "load: this is no object file of this machine");
  const auto loaded = contents_->linker.loadObject(**file);
  contents_->linker.resolveRelocations();
  check(!contents_->linker.hasError(), "load_object", "{}",
        std::string_view(contents_->linker.getErrorString()));
  std::string error;
  check(!contents_->memory.finalizeMemory(&error), "load_object", "{}", error);
  if (loaded) contents_->registered.emplace(**file, *loaded, detail::wanted_perf_files(), loops);
}

LoadedObject::~LoadedObject() = default;
LoadedObject::LoadedObject(LoadedObject&&) noexcept = default;
LoadedObject& LoadedObject::operator=(LoadedObject&&) noexcept = default;

bool wants_names_for_perf() {
  const detail::PerfFiles files = detail::wanted_perf_files();
  return files.map || files.dump;
}

const std::vector<std::string>& LoadedObject::missing() const {
  return contents_->symbols.missing;
}

void* LoadedObject::find(const std::string& symbol) const {
  require(missing().empty(), "missing_symbol",
          hint("load the library that has it into the process first"),
          "load: this process has no function {}", fmt::join(missing(), ", "));
  return reinterpret_cast<void*>(contents_->linker.getSymbol(symbol).getAddress());
}

}  // namespace loopsmith
