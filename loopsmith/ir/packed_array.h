// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "loopsmith/ir/buffer.h"

namespace loopsmith {

/// An array that a function of the host is given.
struct PackedArray {
  Expr data;
  DataType element;  ///< A scalar.
  Expr offset;       ///< Of its first element, in elements.
  std::vector<Expr> shape;
  std::vector<Expr> strides;  ///< In elements; empty: the array is compact.
  bool is_read_only = false;
};

/// The name of the function that prints, which every host has.
inline constexpr std::string_view print_function = "print";

/// True of packed calls: calls of functions of the host, which take buffers.
bool is_packed_call(Op op);

/// All of a buffer as an operand of a packed call: `tvm_stack_make_array`.
Expr make_packed_array(const Ptr<Buffer>& buffer);

/// The array that an operand of a packed call stands for: by `tvm_stack_make_array`, or by
/// `tvm_access_ptr`, an array of one dimension. None for all other operands.
std::optional<PackedArray> find_packed_array(const Expr& operand);

}  // namespace loopsmith
