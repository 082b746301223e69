// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/compact_buffers.h"

#include <cstdlib>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/access_table.h"
#include "loopsmith/transform/definite_assignment.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/lower_blocks.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// Up to here, a constant bound of an extent is better than the exact symbolic one.
constexpr std::int64_t max_rounded_up = 4096;

/// What a buffer becomes: elements from `start` on.
struct Compact {
  Ptr<Buffer> buffer;
  std::vector<Expr> start;
};

/// What the loops over threads around `within` run through: memory that they share has room for all
/// of them, wherever it is allocated.
arith::Intervals threads_around(const Allocation& allocation, const Scope* within) {
  arith::Intervals threads;
  if (!is_shared_by_threads(memory_scope(*allocation.buffer))) return threads;
  for (const Scope* s = within; s; s = s->parent) {
    if (!is_thread_axis(thread_axis_of(s->stmt))) continue;
    const For& loop = *s->stmt.as<For>();
    const Expr last = loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step;
    threads[loop.loop_var] = arith::Interval{loop.min, last};
  }
  return threads;
}

/// What an index of an access runs through in one iteration of `within`.
std::optional<arith::Interval> values_within(AccessTable& table, const Expr& index,
                                             const Scope* within, const arith::Intervals& threads) {
  auto values = table.values(index, within);
  if (!values || threads.empty()) return values;
  const auto first = arith::relax(values->min, threads), last = arith::relax(values->max, threads);
  if (!first || !last) return std::nullopt;
  return arith::Interval{first->min, last->max};
}

/// True when in some dimension each iteration of `loop` uses a window of its own: no value goes
/// from one iteration to another.
bool has_window_of_its_own(AccessTable& table, const Allocation& allocation, const Scope* within) {
  const Ptr<Var>& variable = within->stmt.as<For>()->loop_var;
  const arith::Intervals threads = threads_around(allocation, within);
  Analyzer& analyzer = table.analyzer_at(within);
  for (std::size_t d = 0; d < allocation.buffer->shape.size(); ++d) {
    std::optional<arith::Interval> all;
    bool is_known = true;
    for (const Access& access : allocation.accesses) {
      const auto values = values_within(table, (*access.indices)[d], within, threads);
      is_known = is_known && values;
      if (!is_known) break;
      all = !all ? values
                 : arith::Interval{analyzer.simplify(min(all->min, values->min)),
                                   analyzer.simplify(max(all->max, values->max))};
    }
    if (!is_known || !all) continue;
    const Expr next = substitute(all->min, {{variable, variable + int_imm(variable->dtype, 1)}});
    const Expr stride = analyzer.simplify(next - all->min);
    const std::int64_t* constant = as_int(stride);
    if (!constant || *constant == 0) continue;
    const Expr rest = analyzer.simplify(all->min - cast(all->min.dtype(), variable) * stride);
    const Expr width = analyzer.simplify(all->max - all->min);
    const Expr room = int_imm(width.dtype(), std::abs(*constant));
    if (!uses_variable(rest, variable) && analyzer.can_prove(width < room)) return true;
  }
  return false;
}

}  // namespace

bool is_of_each_iteration(AccessTable& table, const Allocation& allocation, const Scope* loop) {
  if (writes_before_reads(table, allocation, loop)) return true;
  if (!has_window_of_its_own(table, allocation, loop)) return false;
  // An iteration of a loop around may find there what an earlier one left.
  const Scope* around = loop->parent;
  while (around != allocation.inside && (!around->stmt.is<For>() || is_launch_loop(around->stmt))) {
    around = around->parent;
  }
  return around == allocation.inside || is_of_each_iteration(table, allocation, around);
}

namespace {

/// The innermost loop whose iterations, one after another, use memory that threads share each for
/// itself, so that one part of it serves all of them; else the place of the allocation.
const Scope* reused_in(AccessTable& table, const Allocation& allocation) {
  if (!is_shared_by_threads(memory_scope(*allocation.buffer))) return allocation.inside;
  const Scope* reused = nullptr;
  for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
    const auto* loop = s->stmt.as<For>();
    if (!loop || is_launch_loop(s->stmt)) continue;
    if (loop->kind == ForKind::parallel || loop->kind == ForKind::vectorized) {
      reused = nullptr;  // Its iterations use their parts at the same time.
    } else if (!reused && is_of_each_iteration(table, allocation, s)) {
      reused = s;
    }
  }
  return reused ? reused : allocation.inside;
}

/// The part of dimension `d` that is used in `within`: its start and extent; none where all of it
/// may be.
std::optional<std::pair<Expr, Expr>> used_part(AccessTable& table, const Allocation& allocation,
                                               const Scope* within, std::size_t d) {
  std::optional<arith::Interval> all;
  const Expr& old = allocation.buffer->shape[d];
  const std::int64_t* before = as_int(old);
  const arith::Intervals threads = threads_around(allocation, within);
  Analyzer& analyzer = table.analyzer_at(within);
  for (const Access& access : allocation.accesses) {
    const Expr& index = (*access.indices)[d];
    std::optional<arith::Interval> values = values_within(table, index, within, threads);
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
    if (bound.max_value <= max_rounded_up) {
      extent = int_imm(extent.dtype(), std::max<std::int64_t>(bound.max_value, 1));
    }
  }
  const std::int64_t* now = as_int(extent);
  if (!now && within != allocation.inside) return std::nullopt;
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
      const Expr number = Expr::from(entries[1]);
      const std::int64_t* dimension = as_int(number);
      if (!dimension || *dimension != static_cast<std::int64_t>(d)) continue;
      const Expr factor = Expr::from(entries[2]), offset = Expr::from(entries[3]);
      stride = stride + floormod(offset + factor - floormod(stride, factor), factor);
    }
    strides[d] = stride;
    stride = stride * buffer.shape[d];
  }
  return strides;
}

/// `is_of_threads`: accesses are those of one thread, which is not all of what a fragment is.
std::unordered_map<Ref, Compact, RefHash, RefEqual> find_compact(AccessTable& table,
                                                                 bool is_of_threads) {
  std::unordered_map<Ref, Compact, RefHash, RefEqual> result;
  for (const Allocation& allocation : table.allocations()) {
    if (!allocation.buffer || allocation.is_opaque || !allocation.common) continue;
    if (is_of_threads && is_fragment(memory_scope(*allocation.buffer))) continue;
    if (allocation.accesses.empty() || !allocation.buffer->strides.empty()) continue;
    const Scope* within = reused_in(table, allocation);
    Buffer buffer = *allocation.buffer;
    std::vector<Expr> start(buffer.shape.size());
    bool changed = false;
    for (std::size_t d = 0; d < start.size(); ++d) {
      if (const auto part = used_part(table, allocation, within, d)) {
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

Ptr<PrimFunc> compacted(const Ptr<PrimFunc>& func, bool is_of_threads) {
  if (!contains<Allocate>(func->body)) return func;
  AccessTable table(*func);
  const auto compact = find_compact(table, is_of_threads);
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

}  // namespace

Ptr<PrimFunc> compact_buffers(const Ptr<PrimFunc>& func) {
  return compacted(func, /*is_of_threads=*/false);
}

Ptr<PrimFunc> compact_thread_memory(const Ptr<PrimFunc>& func) {
  return has_launch(func->body) ? compacted(func, /*is_of_threads=*/true) : func;
}

}  // namespace loopsmith
