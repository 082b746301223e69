// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/aliasing.h"

#include <llvm/IR/MDBuilder.h>

#include <utility>
#include <vector>

#include "loopsmith/codegen/host_memory.h"
#include "loopsmith/codegen/signature.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {
namespace {

/// Lists of scopes grow with the square of their number.
constexpr std::size_t max_scopes = 64;

}  // namespace

Aliasing::Aliasing(const PrimFunc& func, llvm::LLVMContext& context) {
  find_memory(func);
  make_scopes(context);
}

void Aliasing::add(const Ref& pointer, Memory memory) {
  // Two parameters over one pointer: the second adds nothing.
  if (index_.try_emplace(pointer, memory_.size()).second) memory_.push_back(memory);
}

const Aliasing::Memory* Aliasing::find(const Ref& pointer) const {
  const auto found = index_.find(pointer);
  return found == index_.end() ? nullptr : &memory_[found->second];
}

Aliasing::Memory* Aliasing::find(const Ref& pointer) {
  return const_cast<Memory*>(std::as_const(*this).find(pointer));
}

void Aliasing::find_memory(const PrimFunc& func) {
  const bool noalias = func.attrs.get_int("tir.noalias", 0) != 0;
  for (const Ptr<Buffer>& buffer : func.buffer_map) {
    if (!buffer) continue;
    add(buffer->data,
        {.alignment = required_alignment(*buffer), .is_distinct = noalias, .is_parameter = true});
  }
  // A pointer that is handed out may be written through, and what is computed from it overlaps.
  const auto share = [&](const Ref& pointer) {
    if (Memory* memory = find(pointer)) {
      memory->is_distinct = false;
      memory->is_written = true;
    }
  };
  // Parents come first, so that an allocation is known before its uses.
  pre_order_visit(func.body, [&](const Ref& node) {
    if (const auto* allocate = node.as<Allocate>()) {
      add(allocate->buffer_var, {.alignment = own_alignment, .is_distinct = true});
    } else if (const auto* constant = node.as<AllocateConst>()) {
      add(constant->buffer_var, {.alignment = own_alignment, .is_distinct = true});
    } else if (const auto* store = node.as<BufferStore>()) {
      if (Memory* memory = find(store->buffer->data)) memory->is_written = true;
    } else if (const auto* let = node.as<LetStmt>()) {
      share(let->value);
    } else if (const auto* call = node.as<Call>()) {
      if (looks_at_address(*call)) return false;
      for (const Expr& arg : call->args) {
        const auto* element = arg.as<BufferLoad>();
        share(element && call->op == op("address_of") ? Ref(element->buffer->data) : Ref(arg));
      }
    }
    return true;
  });
}

void Aliasing::make_scopes(llvm::LLVMContext& context) {
  // Parameters that may overlap share a scope, the last one.
  std::vector<Memory*> distinct, shared;
  for (Memory& memory : memory_) {
    if (memory.is_distinct) distinct.push_back(&memory);
    if (!memory.is_distinct && memory.is_parameter) shared.push_back(&memory);
  }
  empty_ = llvm::MDNode::get(context, {});
  if (distinct.empty() || distinct.size() > max_scopes) return;
  llvm::MDBuilder builder(context);
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (std::size_t i = 0; i < distinct.size() + (shared.empty() ? 0 : 1); ++i) {
    scopes.push_back(builder.createAnonymousAliasScope(domain));
  }
  const auto put_in_scope = [&](Memory& memory, std::size_t scope) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(scope));
    memory.scope = llvm::MDNode::get(context, scopes[scope]);
    memory.others = llvm::MDNode::get(context, others);
  };
  for (std::size_t i = 0; i < distinct.size(); ++i) put_in_scope(*distinct[i], i);
  for (Memory* memory : shared) put_in_scope(*memory, distinct.size());
}

void Aliasing::mark(llvm::Instruction& access, const Ref& pointer) const {
  const Memory* memory = find(pointer);
  if (!memory) return;
  if (memory->scope) {
    access.setMetadata(llvm::LLVMContext::MD_alias_scope, memory->scope);
    access.setMetadata(llvm::LLVMContext::MD_noalias, memory->others);
  }
  if (memory->is_distinct && !memory->is_written && access.mayReadFromMemory()) {
    access.setMetadata(llvm::LLVMContext::MD_invariant_load, empty_);
  }
}

std::int64_t Aliasing::alignment(const Ref& pointer, DataType element) const {
  const Memory* memory = find(pointer);
  const int bytes = element.bytes();
  return memory ? memory->alignment : bytes & -bytes;
}

}  // namespace loopsmith::detail
