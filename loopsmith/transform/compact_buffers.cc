// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/compact_buffers.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/accesses.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/lower_blocks.h"

namespace loopsmith {
namespace {

/// Up to here, a constant bound of an extent is better than the exact symbolic one.
constexpr std::int64_t most_rounded_up = 4096;

/// What a buffer becomes: elements from `start` on.
struct Compact {
  Ptr<Buffer> buffer;
  std::vector<Expr> start;
};

/// The part of dimension `d` that is used: its start and extent; none where all of it may be.
std::optional<std::pair<Expr, Expr>> used_part(AccessTable& table, const Allocation& allocation,
                                               std::size_t d) {
  std::optional<arith::Interval> all;
  const Expr& old = allocation.buffer->shape[d];
  const std::int64_t* before = as_int(old);
  Analyzer& analyzer = table.analyzer_at(allocation.inside);
  for (const Access& access : allocation.accesses) {
    const Expr& index = (*access.indices)[d];
    if (!index.dtype().is_scalar()) return std::nullopt;
    std::optional<arith::Interval> values = table.values(index, allocation.inside);
    if (!values) return std::nullopt;
    values->min = analyzer.simplify(values->min);
    values->max = analyzer.simplify(values->max);
    if (!all) {
      all = values;
    } else {
      all = arith::Interval{analyzer.simplify(min(all->min, values->min)),
                            analyzer.simplify(max(all->max, values->max))};
    }
    const std::int64_t *first = as_int(all->min), *last = as_int(all->max);
    if (first && last && before && __int128{*last} - *first >= *before - 1) return std::nullopt;
  }
  const Expr one = int_imm(all->max.dtype(), 1);
  Expr extent = analyzer.simplify(all->max - all->min + one);
  if (!as_int(extent)) {
    const ConstIntBound bound = analyzer.const_int_bound(extent);
    if (bound.max_value <= most_rounded_up) {
      extent = int_imm(extent.dtype(), std::max<std::int64_t>(bound.max_value, 1));
    }
  }
  const std::int64_t* now = as_int(extent);
  if (now && before && *now >= *before) return std::nullopt;
  if (!now && !analyzer.can_prove(extent < old)) return std::nullopt;
  return std::pair(all->min, cast(old.dtype(), extent));
}

/// Row-major strides, rounded up as the rows [buffer, dimension, factor, offset] say.
std::vector<Expr> aligned_strides(const Buffer& buffer, const Ref& rows) {
  std::vector<Expr> strides(buffer.shape.size());
  Expr stride = 1;
  for (std::size_t d = strides.size(); d-- > 0;) {
    for (const Ref& row : rows.as<List>()->items) {
      const auto& entries = row.as<List>()->items;
      const std::int64_t* dimension = as_int(Expr::from(entries[1]));
      if (!dimension || *dimension != static_cast<std::int64_t>(d)) continue;
      const Expr factor = Expr::from(entries[2]), offset = Expr::from(entries[3]);
      stride = stride + floormod(offset + factor - floormod(stride, factor), factor);
    }
    strides[d] = stride;
    stride = stride * buffer.shape[d];
  }
  return strides;
}

std::unordered_map<Ref, Compact, RefHash, RefEqual> find_compact(AccessTable& table) {
  std::unordered_map<Ref, Compact, RefHash, RefEqual> result;
  for (const Allocation& allocation : table.allocations()) {
    if (!allocation.buffer || allocation.is_opaque || !allocation.common) continue;
    if (allocation.accesses.empty() || !allocation.buffer->strides.empty()) continue;
    Buffer buffer = *allocation.buffer;
    std::vector<Expr> start(buffer.shape.size());
    bool changed = false;
    for (std::size_t d = 0; d < start.size(); ++d) {
      if (const auto part = used_part(table, allocation, d)) {
        start[d] = part->first;
        buffer.shape[d] = part->second;
        changed = true;
      }
    }
    if (const Ref rows = allocation.allocate->annotations.get(dim_align); rows.defined()) {
      buffer.strides = aligned_strides(buffer, rows);
      changed = true;
    }
    if (changed) {
      result[allocation.buffer] = {.buffer = make(std::move(buffer)), .start = std::move(start)};
    }
  }
  return result;
}

}  // namespace

Ptr<PrimFunc> compact_buffers(const Ptr<PrimFunc>& func) {
  if (!contains<Allocate>(func->body)) return func;
  AccessTable table(*func);
  const auto compact = find_compact(table);
  if (compact.empty()) return func;

  Rewriter rewrite;
  const auto access = [&](const auto& node) {
    auto inner = rewrite.children(node);
    const auto found = compact.find(node.buffer);
    if (found == compact.end()) return inner;
    auto copy = *inner;
    copy.buffer = found->second.buffer;
    for (std::size_t d = 0; d < copy.indices.size(); ++d) {
      const Expr& start = found->second.start[d];
      if (start.defined()) copy.indices[d] = copy.indices[d] - start;
    }
    return make(std::move(copy));
  };
  rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr { return access(node); });
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt { return access(node); });
  rewrite.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
    const auto found = compact.find(node.buffer);
    if (found == compact.end()) return rewrite.children(node);
    return make(DeclBuffer{.buffer = found->second.buffer, .body = rewrite(node.body)});
  });
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    const auto* decl = node.body.as<DeclBuffer>();
    const auto found = decl ? compact.find(decl->buffer) : compact.end();
    if (found == compact.end()) return rewrite.children(node);
    Allocate copy = node;
    copy.extents = found->second.buffer->shape;
    copy.annotations = copy.annotations.with(dim_align, nullptr);
    copy.body = rewrite(node.body);
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
