// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <unordered_map>
#include <utility>
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

/// What is said of the buffers of tensors, beside their shapes and types.
struct GraphBuffers {
  /// The memory of the results of operations that are no arguments; `global` where it is not said.
  std::unordered_map<Ref, std::string, RefHash, RefEqual> scopes = {};
  /// The buffers of arguments, where they have strides or an alignment of their own.
  std::vector<std::pair<Tensor, Ptr<Buffer>>> bound = {};
};

/// Operations that are computed, too, although no argument depends on them: into memory of the
/// function's own.
using MoreResults = std::vector<Ref>;

/// What `create_prim_func` gives, for callers that look for its blocks.
NamedPrimFunc create_named_prim_func(const std::vector<Ref>& args, GraphBuffers buffers = {},
                                     const MoreResults& results = {});

}  // namespace loopsmith::te
