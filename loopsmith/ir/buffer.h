// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/expr.h"

namespace loopsmith {

/// Memory that is indexed. Two buffers are one only if they are the same object.
struct Buffer : PartNode<Buffer> {
  Ptr<Var> data;  ///< The pointer; its element type and scope are the buffer's.
  DataType dtype;
  std::vector<Expr> shape;
  std::vector<Expr> strides;  ///< In elements; empty: compact, row-major.
  Expr elem_offset;           ///< Where element [0, ..., 0] lies, in elements. Null: 0.
  std::string name;
  std::int64_t data_alignment = 64;           ///< Of the pointer, in bytes.
  std::int64_t offset_factor = 1;             ///< elem_offset is a multiple of it.
  bool auto_broadcast = false;                ///< A dimension of extent 1 is read with stride 0.
  std::vector<std::int64_t> axis_separators;  ///< Dimensions that start a new physical axis.

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("data", &Buffer::data, Role::binds);
    visit("dtype", &Buffer::dtype);
    visit("shape", &Buffer::shape);
    visit("strides", &Buffer::strides);
    visit("elem_offset", &Buffer::elem_offset, Role::optional);
    visit("name", &Buffer::name, Role::label);
    visit("data_alignment", &Buffer::data_alignment);
    visit("offset_factor", &Buffer::offset_factor, Role::label);
    visit("auto_broadcast", &Buffer::auto_broadcast);
    visit("axis_separators", &Buffer::axis_separators);
  }

  /// Where it lives: `global`, `shared`, `local`, ...
  std::string_view scope() const;
};
void canonicalize(Buffer& node);

/// A box of elements of a buffer.
struct BufferRegion : PartNode<BufferRegion> {
  Ptr<Buffer> buffer;
  std::vector<Ptr<Range>> region;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("buffer", &BufferRegion::buffer);
    visit("region", &BufferRegion::region);
  }
};
void canonicalize(BufferRegion& node);

/// `buffer`, defined here, is a view of `source`.
struct MatchBufferRegion : PartNode<MatchBufferRegion> {
  Ptr<BufferRegion> source;
  Ptr<Buffer> buffer;

  template <class V>
  static constexpr void fields(V&& visit) {
    visit("source", &MatchBufferRegion::source);
    visit("buffer", &MatchBufferRegion::buffer, Role::matches);
  }
};
void canonicalize(MatchBufferRegion& node);

/// A new buffer with its own pointer, compact and row-major.
Ptr<Buffer> decl_buffer(std::vector<Expr> shape, DataType dtype = f32, std::string name = "buffer",
                        std::string scope = {});

/// The whole of `buffer`; a point of it.
Ptr<BufferRegion> whole_region(const Ptr<Buffer>& buffer);
Ptr<BufferRegion> point_region(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices);

/// The element at `indices`: `load(A, {i, j})`.
Expr load(const Ptr<Buffer>& buffer, std::vector<Expr> indices);

/// The strides of `buffer` in elements; the row-major ones where it has none.
std::vector<Expr> strides_of(const Buffer& buffer);

/// The product of the extents, as one expression.
Expr element_count(const Buffer& buffer);

}  // namespace loopsmith
