// SPDX-License-Identifier: Apache-2.0
// Calls of the instructions of tensor cores. Operands are addresses of what a thread has of them,
// or in shared memory.
#pragma once
#include <string>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A product of matrices by one instruction.
struct MatrixProduct {
  std::string shape;  ///< `m16n8k16`: rows, columns and steps.
  DataType operands, results;
  bool left_is_row_major = true;
  bool right_is_column_major = true;
};

/// `ptx_mma`: results += left * right.
Stmt matrix_product(const MatrixProduct& product, const Expr& left, const Expr& right,
                    const Expr& results);

/// `ptx_ldmatrix`: loads `count` matrices of 8 rows of 16 bytes, of which each lane says where one
/// row begins.
Stmt matrix_load(DataType dtype, int count, bool is_transposed, const Expr& target,
                 const Expr& row);

}  // namespace loopsmith
