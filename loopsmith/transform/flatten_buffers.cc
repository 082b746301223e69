// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/flatten_buffers.h"

#include <limits>
#include <unordered_map>

#include "loopsmith/ir/buffer_address.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/vector_math.h"

namespace loopsmith {
namespace {

/// How the dimensions of a buffer are laid out.
struct Layout {
  Ptr<Buffer> flat;
  std::vector<Expr> strides;       ///< Of each dimension, within its group.
  std::vector<std::size_t> group;  ///< The flat dimension that each belongs to.
  DataType index;                  ///< What flat indices are computed in.
};

/// True when every element lies at less than 2^31: constants only.
bool is_small(const Buffer& buffer) {
  __int128 last = 0;
  const std::vector<Expr> strides = strides_of(buffer);
  const auto add = [&](const std::int64_t* value, const std::int64_t* scale) {
    if (!value || !scale) return false;
    last += static_cast<__int128>(*value) * *scale;
    return last <= std::numeric_limits<std::int32_t>::max();
  };
  const std::int64_t one = 1;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    if (!add(as_int(buffer.shape[d]), as_int(strides[d]))) return false;
  }
  return !buffer.elem_offset.defined() || add(as_int(buffer.elem_offset), &one);
}

bool is_flat(const Buffer& buffer) {
  if (buffer.elem_offset.defined() && !is_const_int(buffer.elem_offset, 0)) return false;
  return is_of_physical_axes(buffer) && buffer.strides.empty();
}

Layout layout_of(const Ptr<Buffer>& buffer) {
  Layout layout{.flat = buffer, .index = is_small(*buffer) ? i32 : i64};
  const std::size_t rank = buffer->shape.size();

  // Groups first; a separator at 0 or at the end makes an empty group, of extent 1.
  std::size_t groups = 1;
  for (std::size_t d = 0; d <= rank; ++d) {
    for (const std::int64_t separator : buffer->axis_separators) {
      if (separator == static_cast<std::int64_t>(d)) ++groups;
    }
    if (d < rank) layout.group.push_back(groups - 1);
  }

  const bool wide = layout.index == i64;
  const auto sized = [&](const Expr& size) { return wide ? cast(i64, size) : size; };
  const bool has_strides = !buffer->strides.empty();
  std::vector<Expr> extents(groups, Expr(1));
  layout.strides.resize(rank);
  for (std::size_t d = rank; d-- > 0;) {
    Expr& extent = extents[layout.group[d]];
    const Expr size = sized(buffer->shape[d]);
    if (has_strides) {
      layout.strides[d] = sized(buffer->strides[d]);
      extent = extent + (size - 1) * layout.strides[d];
    } else {
      layout.strides[d] = extent;
      extent = extent * size;
    }
  }
  if (is_flat(*buffer)) return layout;

  Buffer flat = *buffer;
  flat.shape = std::move(extents);
  if (buffer->elem_offset.defined()) {
    flat.shape.back() = flat.shape.back() + sized(buffer->elem_offset);
  }
  flat.strides.clear();
  flat.elem_offset = nullptr;
  flat.offset_factor = 1;
  flat.auto_broadcast = false;
  flat.axis_separators.clear();
  for (std::size_t g = 1; g < groups; ++g) {
    flat.axis_separators.push_back(static_cast<std::int64_t>(g));
  }
  layout.flat = make(std::move(flat));
  return layout;
}

std::vector<Expr> flat_indices(const Buffer& buffer, const Layout& layout,
                               const std::vector<Expr>& indices) {
  std::vector<Expr> result(layout.flat->shape.size());
  const auto add = [&](std::size_t group, const Expr& term) {
    result[group] = result[group].defined() ? add_lanes(result[group], term) : term;
  };
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const Expr& index = indices[d];
    const bool wide = layout.index == i64 && index.dtype().bits < 64;
    const Expr place = wide ? cast_lanes(i64, index) : index;
    add(layout.group[d], multiply_lanes(place, layout.strides[d]));
  }
  for (Expr& index : result) {
    if (!index.defined()) index = int_imm(layout.index, 0);
  }
  if (buffer.elem_offset.defined()) {
    result.back() = add_lanes(result.back(), buffer.elem_offset);
  }
  return result;
}

class Flattener {
 public:
  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func);

 private:
  const Layout& layout(const Ptr<Buffer>& buffer) {
    auto [found, is_new] = layouts_.try_emplace(buffer);
    if (is_new) found->second = layout_of(buffer);
    return found->second;
  }
  template <class Access>
  Ptr<Access> access(const Access& node);
  Stmt allocation(const Allocate& node);
  std::vector<Expr> simple(std::vector<Expr> list) {
    for (Expr& each : list) each = analyzer_.simplify(each);
    return list;
  }

  Rewriter rewrite_;
  Analyzer analyzer_;
  std::unordered_map<Ref, Layout, RefHash, RefEqual> layouts_;
};

template <class Access>
Ptr<Access> Flattener::access(const Access& node) {
  const Ptr<Access> inner = rewrite_.children(node);
  const Layout& layout = this->layout(inner->buffer);
  if (layout.flat.same_as(inner->buffer)) return inner;
  Access copy = *inner;
  copy.buffer = layout.flat;
  copy.indices = simple(flat_indices(*inner->buffer, layout, inner->indices));
  return make(std::move(copy));
}

/// One extent, that of the flat buffer behind the pointer.
Stmt Flattener::allocation(const Allocate& node) {
  const Ptr<Allocate> inner = rewrite_.children(node);
  Allocate copy = *inner;
  const auto* decl = node.body.as<DeclBuffer>();
  if (decl && decl->buffer->data.same_as(node.buffer_var)) {
    copy.extents = simple(layout(rewrite_.buffer(decl->buffer)).flat->shape);
  } else {
    Expr count = 1;
    for (const Expr& extent : inner->extents) count = count * extent;
    copy.extents = simple({count});
  }
  return make(std::move(copy));
}

Ptr<PrimFunc> Flattener::run(const Ptr<PrimFunc>& func) {
  rewrite_.on<For>([&](const For& node) { return rewrite_loop(rewrite_, analyzer_, node); });
  rewrite_.on<BufferLoad>([&](const BufferLoad& node) -> Expr { return access(node); });
  rewrite_.on<BufferStore>([&](const BufferStore& node) -> Stmt { return access(node); });
  rewrite_.on<Allocate>([&](const Allocate& node) { return allocation(node); });
  rewrite_.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
    const Ptr<DeclBuffer> inner = rewrite_.children(node);
    const Layout& layout = this->layout(inner->buffer);
    if (layout.flat.same_as(inner->buffer)) return inner;
    DeclBuffer copy = *inner;
    copy.buffer = layout.flat;
    return make(std::move(copy));
  });

  Stmt body = rewrite_(func->body);
  for (std::size_t i = func->buffer_map.size(); i-- > 0;) {
    if (!func->buffer_map[i]) continue;
    const auto layout = layouts_.find(func->buffer_map[i]);
    if (layout == layouts_.end() || layout->second.flat.same_as(layout->first)) continue;
    body = make(DeclBuffer{.buffer = layout->second.flat, .body = std::move(body)});
  }
  return with_body(func, std::move(body));
}

}  // namespace

Ptr<PrimFunc> flatten_buffers(const Ptr<PrimFunc>& func) {
  return Flattener().run(func);
}

}  // namespace loopsmith
