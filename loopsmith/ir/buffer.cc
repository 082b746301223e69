// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/buffer.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/type_name.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

std::string_view Buffer::scope() const {
  return data && data->pointer ? std::string_view(data->pointer->storage_scope) : "global";
}

void canonicalize(Buffer& node) {
  require(node.data->dtype.is_handle(), ErrorKind::type_mismatch, "buffer_data_is_pointer",
          hint("use pointer_var"), node.span, "buffer {}: its data is {}, not a pointer", node.name,
          TypeName(node.data->dtype));
  require(!node.dtype.is_void(), ErrorKind::type_mismatch, "buffer_has_type",
          hint("give the buffer a data type"), node.span, "buffer {} has type void", node.name);
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    const DataType type = node.shape[i].dtype();
    require(type.is_integer() && type.is_scalar(), ErrorKind::type_mismatch, "shape_is_integer",
            hint("give sizes as int32 or int64"), node.span,
            "buffer {}: dimension {} is {}, not an integer", node.name, i, TypeName(type));
    const std::int64_t* extent = as_int(node.shape[i]);
    require(!extent || *extent >= 0, ErrorKind::bounds, "shape_is_not_negative",
            hint("sizes are 0 or more"), node.span, "buffer {}: dimension {} is {}, negative",
            node.name, i, extent ? *extent : 0);
  }
  require(
      node.strides.empty() || node.strides.size() == node.shape.size(), ErrorKind::type_mismatch,
      "one_stride_a_dimension", hint("give one stride for each dimension, or none"), node.span,
      "buffer {}: {} strides for {} dimensions", node.name, node.strides.size(), node.shape.size());
  const auto require_integer = [&](const Expr& part, std::string_view what) {
    require(part.dtype().is_integer() && part.dtype().is_scalar(), ErrorKind::type_mismatch,
            "buffer_layout_is_integer", hint("give it as int32 or int64"), node.span,
            "buffer {}: {} is {}, not an integer", node.name, what, TypeName(part.dtype()));
  };
  for (const Expr& stride : node.strides) require_integer(stride, "a stride");
  if (node.elem_offset.defined()) require_integer(node.elem_offset, "elem_offset");
  // One way to say that there is none.
  if (node.elem_offset.is<IntImm>() && is_const_int(node.elem_offset, 0)) {
    node.elem_offset = nullptr;
  }
  require(node.data_alignment >= 1 && node.offset_factor >= 1, ErrorKind::bounds,
          "alignment_is_positive", hint("give 1 or more"), node.span,
          "buffer {}: data_alignment is {}, offset_factor {}", node.name, node.data_alignment,
          node.offset_factor);
  const auto& separators = node.axis_separators;
  const auto rank = static_cast<std::int64_t>(node.shape.size());
  const auto decrease = std::ranges::adjacent_find(separators, std::ranges::greater_equal());
  require(decrease == separators.end(), ErrorKind::bounds, "separators_increase",
          hint("give each a dimension, in order"), node.span,
          "buffer {}: axis_separators [{}] do not increase", node.name,
          fmt::join(separators, ", "));
  require(separators.empty() || (separators.front() >= 0 && separators.back() <= rank),
          ErrorKind::bounds, "separators_in_range", hint("count dimensions from 0"), node.span,
          "buffer {}: axis_separators [{}] for {} dimensions", node.name,
          fmt::join(separators, ", "), rank);
}

Ptr<Buffer> decl_buffer(std::vector<Expr> shape, DataType dtype, std::string name,
                        std::string scope) {
  auto data = pointer_var(name, dtype, std::move(scope));
  return make(Buffer{
      .data = std::move(data), .dtype = dtype, .shape = std::move(shape), .name = std::move(name)});
}

void canonicalize(BufferRegion& node) {
  require(node.region.size() == node.buffer->shape.size(), ErrorKind::type_mismatch,
          "one_range_a_dimension", hint("give one range for each dimension"), node.span,
          "region: buffer {} has {} dimensions, {} ranges were given", node.buffer->name,
          node.buffer->shape.size(), node.region.size());
}

void canonicalize(MatchBufferRegion& node) {
  const Buffer& source = *node.source->buffer;
  const Buffer& view = *node.buffer;
  require(view.dtype == source.dtype && view.scope() == source.scope(), ErrorKind::type_mismatch,
          "view_is_like_source", hint("give the view the type and the scope of its source"),
          node.span, "match_buffer: {} is {} in {}, its source {} is {} in {}", view.name,
          TypeName(view.dtype), view.scope(), source.name, TypeName(source.dtype), source.scope());
  require(view.shape.size() <= source.shape.size(), ErrorKind::type_mismatch, "view_is_like_source",
          hint("leave out leading dimensions of extent 1 only"), node.span,
          "match_buffer: {} has {} dimensions, its source {} has {}", view.name, view.shape.size(),
          source.name, source.shape.size());
}

Ptr<BufferRegion> whole_region(const Ptr<Buffer>& buffer) {
  std::vector<Ptr<Range>> region;
  for (const Expr& extent : buffer->shape) region.push_back(range(zero_of(extent.dtype()), extent));
  return make(BufferRegion{.buffer = buffer, .region = std::move(region)});
}

Ptr<BufferRegion> point_region(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
  std::vector<Ptr<Range>> region;
  for (const Expr& index : indices) region.push_back(range(index, int_imm(index.dtype(), 1)));
  return make(BufferRegion{.buffer = buffer, .region = std::move(region)});
}

Expr load(const Ptr<Buffer>& buffer, std::vector<Expr> indices) {
  return make(BufferLoad{.buffer = buffer, .indices = std::move(indices)});
}

std::vector<Expr> strides_of(const Buffer& buffer) {
  if (!buffer.strides.empty() || buffer.shape.empty()) return buffer.strides;
  std::vector<Expr> strides(buffer.shape.size());
  strides.back() = int_imm(buffer.shape.back().dtype(), 1);
  for (std::size_t i = buffer.shape.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * buffer.shape[i];
  }
  return strides;
}

Expr element_count(const Buffer& buffer) {
  Expr count = 1;
  for (const Expr& extent : buffer.shape) count = count * extent;
  return count;
}

}  // namespace loopsmith
