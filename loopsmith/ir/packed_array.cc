// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/packed_array.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// The bits of the mask of `tvm_access_ptr`.
constexpr std::int64_t reads_only = 1;

Expr make_shape(const std::vector<Expr>& sizes) {
  return call(op("tvm_stack_make_shape"), sizes);
}

/// The sizes that `tvm_stack_make_shape` lists; none of anything else.
std::vector<Expr> sizes_of(const Expr& list) {
  const auto* shape = list.as<Call>();
  return shape && shape->op == op("tvm_stack_make_shape") ? shape->args : std::vector<Expr>{};
}

}  // namespace

bool is_packed_call(Op callee) {
  return callee == op("tvm_call_packed") || callee == op("tvm_call_cpacked");
}

Expr make_packed_array(const Ptr<Buffer>& buffer) {
  const int lanes = buffer->dtype.lanes;
  std::vector<Expr> shape = buffer->shape, strides = buffer->strides;
  Expr offset = buffer->elem_offset.defined() ? buffer->elem_offset : Expr(0);
  if (lanes > 1) {
    offset = offset * lanes;
    for (Expr& stride : strides) stride = stride * lanes;
    if (!strides.empty()) strides.emplace_back(1);
    shape.emplace_back(lanes);
  }
  const Expr rank = int_imm(i32, static_cast<std::int64_t>(shape.size()));
  return call(op("tvm_stack_make_array"),
              {buffer->data, make_shape(shape), strides.empty() ? Expr(0) : make_shape(strides),
               rank, zero_of(buffer->dtype.element()), offset});
}

std::optional<PackedArray> find_packed_array(const Expr& operand) {
  const auto* made = operand.as<Call>();
  if (made && made->op == op("tvm_access_ptr")) {
    const DataType type = made->args[0].dtype();
    const bool is_scalar = type.is_scalar();
    const Expr lanes = static_cast<int>(type.lanes);
    return PackedArray{.data = made->args[1],
                       .element = type.element(),
                       .offset = is_scalar ? made->args[2] : made->args[2] * lanes,
                       .shape = {is_scalar ? made->args[3] : made->args[3] * lanes},
                       .strides = {},
                       .is_read_only = is_const_int(made->args[4], reads_only)};
  }
  if (!made || made->op != op("tvm_stack_make_array")) return {};
  PackedArray array{.data = made->args[0],
                    .element = made->args[4].dtype(),
                    .offset = made->args[5],
                    .shape = sizes_of(made->args[1]),
                    .strides = sizes_of(made->args[2])};
  require(array.strides.empty() || array.strides.size() == array.shape.size(),
          ErrorKind::type_mismatch, "array_has_strides", hint("give a stride for each dimension"),
          made->span, "tvm_stack_make_array: {} strides for {} dimensions", array.strides.size(),
          array.shape.size());
  return array;
}

}  // namespace loopsmith
