// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics as tensor expressions describe them.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/te/tensor.h"

namespace loopsmith::te {

/// What computes an operation in one go, in statements over buffers: all of it; or its start and
/// one more step of its reduction.
struct TensorIntrinDecl {
  std::string name;
  Ref op;                               ///< A ComputeOp over placeholders.
  std::vector<Ptr<Buffer>> in_buffers;  ///< One for each tensor that it reads.
  std::vector<Ptr<Buffer>> out_buffers;
  std::vector<Ptr<Var>> scalar_params;  ///< Numbers that the operation and the statements take.
  Stmt body;           ///< Computes the results; null where only the two others are given.
  Stmt reduce_init;    ///< Stores what a reduction starts from; null: there is none.
  Stmt reduce_update;  ///< Combines with what was stored; null: there is none.
};

/// Stops unless the operation is a compute that reads placeholders alone, the buffers fit its
/// tensors, and there is a statement.
void require_intrin(const TensorIntrinDecl& intrin);

}  // namespace loopsmith::te
