// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Module.h>

#include <unordered_map>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith::detail {

/// Which memory each pointer variable of a function points into, told to LLVM at each access.
///
/// Memory that the function allocates overlaps nothing else; the buffers of parameters overlap
/// nothing where the function has `tir.noalias`, and elsewhere only each other. A pointer computed
/// from others is unknown.
class Aliasing {
 public:
  Aliasing(const PrimFunc& func, llvm::LLVMContext& context);

  /// Marks an access through `pointer` (a variable).
  void mark(llvm::Instruction& access, const Ref& pointer) const;
  /// At which multiple of bytes what `pointer` points to begins.
  std::int64_t alignment(const Ref& pointer, DataType element) const;

 private:
  struct Memory {
    std::int64_t alignment = 0;
    bool is_distinct = false;  ///< It overlaps no other memory.
    bool is_parameter = false;
    bool is_written = false;
    llvm::MDNode* scope = nullptr;
    llvm::MDNode* others = nullptr;
  };
  void add(const Ref& pointer, Memory memory);
  Memory* find(const Ref& pointer);
  const Memory* find(const Ref& pointer) const;
  void find_memory(const PrimFunc& func);
  void make_scopes(llvm::LLVMContext& context);

  std::vector<Memory> memory_;
  std::unordered_map<Ref, std::size_t, RefHash, RefEqual> index_;
  llvm::MDNode* empty_ = nullptr;
};

}  // namespace loopsmith::detail
