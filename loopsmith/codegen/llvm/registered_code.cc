// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/registered_code.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/SymbolSize.h>

#include <cstdint>
#include <mutex>
#include <string_view>

// GDB's JIT interface ("JIT Compilation Interface" in its manual). GDB stops at the function, and
// reads the list from the variable; both are found by their names.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names are GDB's.
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};
struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
__attribute__((visibility("protected"))) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                  nullptr};
__attribute__((visibility("protected"), noinline)) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");  // So that calls stay, although nothing is done.
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace loopsmith::detail {
namespace {

enum class Action : std::uint32_t { none, add, remove };

std::mutex& registry() {
  static std::mutex mutex;
  return mutex;
}

void tell_debugger(jit_code_entry& entry, Action action) {
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_descriptor.action_flag = static_cast<std::uint32_t>(action);
  __jit_debug_register_code();
}

/// What people call a function by its symbol: `matmul.i` of `ls_call_matmul.i`.
std::string readable(std::string_view symbol) {
  constexpr std::string_view prefix = "ls_call_";
  if (symbol.starts_with(prefix)) symbol.remove_prefix(prefix.size());
  return "loopsmith:" + std::string(symbol);
}

/// A function cut into pieces, by the loops that its lines are in.
void cut_by_loops(const NamedCode& function, const llvm::DWARFDebugLine::LineTable& table,
                  const std::vector<std::string>& loops, std::vector<NamedCode>& pieces) {
  NamedCode current{function.begin, function.begin, function.name};
  for (const llvm::DWARFDebugLine::Row& row : table.Rows) {
    const std::uint64_t at = row.Address.Address;
    if (at < function.begin || at >= function.end || row.EndSequence) continue;
    const std::string* loop = row.Line < loops.size() ? &loops[row.Line] : nullptr;
    std::string name = loop && !loop->empty() ? function.name + " " + *loop : function.name;
    if (name == current.name) continue;
    current.end = at;
    if (current.end > current.begin) pieces.push_back(current);
    current = {at, at, std::move(name)};
  }
  current.end = function.end;
  if (current.end > current.begin) pieces.push_back(std::move(current));
}

std::vector<NamedCode> pieces_of(const llvm::object::ObjectFile& object,
                                 const std::vector<std::string>& loops) {
  std::vector<NamedCode> functions;
  for (const auto& [symbol, size] : llvm::object::computeSymbolSizes(object)) {
    // LLVM has just written the object: what cannot be read of it is no function of ours.
    const auto type = llvm::expectedToOptional(symbol.getType());
    const auto name = llvm::expectedToOptional(symbol.getName());
    const auto address = llvm::expectedToOptional(symbol.getAddress());
    if (type != llvm::object::SymbolRef::ST_Function || !name || !address || size == 0) continue;
    functions.push_back({*address, *address + size, readable(*name)});
  }
  if (loops.empty()) return functions;
  const std::unique_ptr<llvm::DWARFContext> debug = llvm::DWARFContext::create(object);
  const llvm::DWARFDebugLine::LineTable* table = nullptr;
  for (const auto& unit : debug->compile_units()) table = debug->getLineTableForUnit(unit.get());
  if (!table) return functions;
  std::vector<NamedCode> pieces;
  for (const NamedCode& function : functions) cut_by_loops(function, *table, loops, pieces);
  return pieces;
}

}  // namespace

struct RegisteredCode::Entry {
  llvm::object::OwningBinary<llvm::object::ObjectFile> object;
  jit_code_entry listed{};
};

RegisteredCode::RegisteredCode(const llvm::object::ObjectFile& object,
                               const llvm::RuntimeDyld::LoadedObjectInfo& loaded,
                               PerfFiles perf_files, const std::vector<std::string>& loops)
    : entry_(std::make_unique<Entry>()) {
  // A copy in which sections and symbols have the addresses at which they were loaded.
  entry_->object = loaded.getObjectForDebug(object);
  const llvm::object::ObjectFile* placed = entry_->object.getBinary();
  if (!placed) return;
  const std::lock_guard lock(registry());
  if (perf_files.map || perf_files.dump) tell_perf(pieces_of(*placed, loops), perf_files);
  const llvm::StringRef bytes = placed->getData();
  entry_->listed = {__jit_debug_descriptor.first_entry, nullptr, bytes.data(), bytes.size()};
  if (entry_->listed.next_entry) entry_->listed.next_entry->prev_entry = &entry_->listed;
  __jit_debug_descriptor.first_entry = &entry_->listed;
  tell_debugger(entry_->listed, Action::add);
}

RegisteredCode::~RegisteredCode() {
  jit_code_entry& own = entry_->listed;
  if (!own.symfile_addr) return;
  const std::lock_guard lock(registry());
  if (own.prev_entry) {
    own.prev_entry->next_entry = own.next_entry;
  } else {
    __jit_debug_descriptor.first_entry = own.next_entry;
  }
  if (own.next_entry) own.next_entry->prev_entry = own.prev_entry;
  tell_debugger(own, Action::remove);
}

}  // namespace loopsmith::detail
