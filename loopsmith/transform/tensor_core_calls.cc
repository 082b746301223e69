// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/tensor_core_calls.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

std::string ptx_name(DataType type) {
  if (type == f16) return "fp16";
  if (type == bf16) return "bf16";
  if (type == i8) return "int8";
  return type == i32 ? "int32" : "fp32";
}

}  // namespace

Stmt matrix_product(const MatrixProduct& product, const Expr& left, const Expr& right,
                    const Expr& results) {
  const Expr zero = int_imm(i32, 0);
  const Expr operands = string_imm(product.operands == f32 ? "tf32" : ptx_name(product.operands));
  return make(Evaluate{
      .value =
          call(product.results, op("ptx_mma"),
               {string_imm(product.shape), string_imm(product.left_is_row_major ? "row" : "col"),
                string_imm(product.right_is_column_major ? "col" : "row"), operands, operands,
                string_imm(ptx_name(product.results)), left, zero, right, zero, results, zero,
                int_imm(boolean, 0)})});
}

Stmt matrix_load(DataType dtype, int count, bool is_transposed, const Expr& target,
                 const Expr& row) {
  const Expr zero = int_imm(i32, 0);
  return make(Evaluate{.value = call(dtype, op("ptx_ldmatrix"),
                                     {int_imm(boolean, is_transposed ? 1 : 0), int_imm(i32, count),
                                      string_imm(".b16"), target, zero, row, zero})});
}

}  // namespace loopsmith
