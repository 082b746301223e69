// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

struct PrimFuncOptions {
  DataType index_dtype = void_type;  ///< int32 or int64 for all indices. Void: as they are written.
};

/// The function whose parameters are `args`, tensors and scalar variables, and which computes those
/// of them that are no placeholders. A block for each operation, one after another, unscheduled.
///
///     Ptr<PrimFunc> func = create_prim_func({A, B, C});
Ptr<PrimFunc> create_prim_func(const std::vector<Ref>& args, const PrimFuncOptions& options = {});

/// The names of the blocks of each operation.
using BlocksOfOps = std::unordered_map<Ref, std::vector<std::string>, RefHash, RefEqual>;

/// A function, and which of its blocks compute what.
struct NamedPrimFunc {
  Ptr<PrimFunc> func;
  BlocksOfOps blocks;
};

/// The memory of the results of operations.
using ScopesOfOps = std::unordered_map<Ref, std::string, RefHash, RefEqual>;

/// What `create_prim_func` gives, for those who look for its blocks. Results that are no arguments
/// are kept in the memory that `scopes` says; else in `global` memory.
NamedPrimFunc create_named_prim_func(const std::vector<Ref>& args, ScopesOfOps scopes = {});

}  // namespace loopsmith::te
