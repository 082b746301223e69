// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/buffer_address.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

Expr offset_of(const Buffer& buffer, const std::vector<Expr>& indices) {
  const std::vector<Expr> strides = strides_of(buffer);
  require(indices.size() == strides.size(), ErrorKind::type_mismatch, "one_index_a_dimension",
          hint("give one index for each dimension"), {},
          "buffer {} has {} dimensions, {} indices were given", buffer.name, strides.size(),
          indices.size());
  Expr offset = buffer.elem_offset.defined() ? buffer.elem_offset : Expr(0);
  for (std::size_t i = 0; i < indices.size(); ++i) offset = offset + indices[i] * strides[i];
  return offset;
}

bool is_of_physical_axes(const Buffer& buffer) {
  const auto& separators = buffer.axis_separators;
  if (buffer.shape.size() != separators.size() + 1) return false;
  for (std::size_t i = 0; i < separators.size(); ++i) {
    if (separators[i] != static_cast<std::int64_t>(i + 1)) return false;
  }
  return true;
}

Ptr<Buffer> flattened_buffer(const Ptr<Buffer>& buffer) {
  const std::size_t rank = buffer->shape.size();
  const auto& separators = buffer->axis_separators;
  if (buffer->strides.empty() && is_of_physical_axes(*buffer)) return buffer;
  Buffer flat = *buffer;
  flat.shape.clear();
  flat.strides.clear();
  flat.axis_separators.clear();
  for (std::size_t group = 0, d = 0; group <= separators.size(); ++group) {
    const std::size_t end =
        group < separators.size() ? static_cast<std::size_t>(separators[group]) : rank;
    Expr extent = 1;
    // With strides, the outermost dimension of a group says how far it reaches.
    if (!buffer->strides.empty() && d < end) extent = buffer->strides[d] * buffer->shape[d];
    for (; d < end; ++d) {
      if (buffer->strides.empty()) extent = extent * buffer->shape[d];
    }
    if (group > 0) flat.axis_separators.push_back(static_cast<std::int64_t>(group));
    flat.shape.push_back(extent);
  }
  return make(std::move(flat));
}

Expr access_ptr(const Ptr<Buffer>& buffer, const PointerUse& use) {
  Expr first = buffer->elem_offset.defined() ? buffer->elem_offset : Expr(0);
  if (use.offset.defined()) first = first + use.offset;
  Expr count = use.extent.defined() ? use.extent : element_count(*buffer);
  if (!use.extent.defined() && use.offset.defined()) count = count - use.offset;
  const DataType type = buffer->dtype.with_lanes(buffer->dtype.lanes * use.lanes);
  return call(op("tvm_access_ptr"), {call(type, op("type_annotation"), {}), buffer->data, first,
                                     count, int_imm(i32, use.mask)});
}

int pointer_mask(std::string_view letters) {
  require(letters == "r" || letters == "w" || letters == "rw" || letters == "wr", "mask_is_known",
          hint("write r, w or rw"), "access_ptr: '{}' says neither r nor w", letters);
  return (letters.find('r') != std::string_view::npos ? 1 : 0) |
         (letters.find('w') != std::string_view::npos ? 2 : 0);
}

}  // namespace loopsmith
