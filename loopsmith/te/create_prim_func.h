// SPDX-License-Identifier: Apache-2.0
#pragma once
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

}  // namespace loopsmith::te
