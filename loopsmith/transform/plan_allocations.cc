// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_allocations.h"

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/stores_alike.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/definite_assignment.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// So many loops are tried, from the innermost outwards.
constexpr int max_attempts = 3;

/// The innermost scope around all accesses that is not inside a loop over threads which share the
/// memory.
const Scope* innermost_of(const Allocation& allocation) {
  const Scope* innermost = allocation.common;
  for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
    const auto* loop = s->stmt.as<For>();
    const bool is_shared =
        loop && loop->kind == ForKind::thread_binding &&
        !is_of_one_thread(thread_axis_of(*loop), memory_scope(*allocation.buffer));
    if (is_shared) innermost = s->parent;
  }
  return innermost;
}

/// True for a loop of vectors whose lanes all keep the same in the memory.
bool is_shared_by_lanes(const For& loop, const Allocation& allocation) {
  return loop.kind == ForKind::vectorized && stores_alike(loop, allocation.buffer);
}

/// The loop whose body the allocation moves into; null: it stays.
const Scope* place_of(AccessTable& table, const Allocation& allocation) {
  int attempts = 0;
  for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
    if (s->stmt.is<While>()) return nullptr;  // Out of one there is no way back in.
  }
  for (const Scope* s = innermost_of(allocation); s != allocation.inside; s = s->parent) {
    const auto* loop = s->stmt.as<For>();
    if (!loop || is_shared_by_lanes(*loop, allocation)) continue;
    // Blocks of threads have such memory each for itself, whatever they write to it.
    const bool is_of_block = is_shared_by_threads(memory_scope(*allocation.buffer)) &&
                             is_block_axis(thread_axis_of(s->stmt));
    if (is_of_block) return s;
    if (++attempts > max_attempts) return nullptr;
    // An opaque use may read anything.
    if (!allocation.is_opaque && writes_before_reads(table, allocation, s)) return s;
  }
  return nullptr;
}

/// The outermost loop over threads around the allocation that share the memory, so that it is
/// theirs and not one's; null without one, or where it cannot leave that loop.
const Scope* threads_of(const AccessTable& table, const Allocation& allocation) {
  // Any other memory is of the iteration that allocates it.
  if (!is_shared_by_threads(memory_scope(*allocation.buffer))) return nullptr;
  const Scope* threads = nullptr;
  for (const Scope* s = allocation.scope; s; s = s->parent) {
    const auto* loop = s->stmt.as<For>();
    if (!loop) continue;
    const bool is_bound = loop->kind == ForKind::thread_binding;
    const bool is_shared =
        is_bound && !is_of_one_thread(thread_axis_of(*loop), memory_scope(*allocation.buffer));
    if (is_shared) threads = s;
    const bool may_leave = loop->kind == ForKind::serial || loop->kind == ForKind::unrolled ||
                           is_shared_by_lanes(*loop, allocation);
    if (!is_shared && !may_leave) break;
  }
  for (const Expr& extent : allocation.allocate->extents) {
    for (const auto& variable : free_variables(extent)) {
      const Scope* defined = table.definition(variable);
      if (threads && defined && is_around(threads, defined)) return nullptr;
    }
  }
  return threads;
}

Stmt allocated(const Allocation& allocation, Stmt body) {
  Allocate copy = *allocation.allocate;
  copy.body = make(DeclBuffer{.buffer = allocation.buffer, .body = std::move(body)});
  return make(std::move(copy));
}

}  // namespace

Ptr<PrimFunc> plan_allocations(const Ptr<PrimFunc>& func) {
  if (!contains<Allocate>(func->body)) return func;
  AccessTable table(*func);
  using ByLoop = std::unordered_map<Ref, std::vector<const Allocation*>, RefHash, RefEqual>;
  ByLoop arriving, surrounding;  // Into the body of a loop; around a loop.
  std::unordered_map<Ref, const Allocation*, RefHash, RefEqual> leaving;  // By their pointer.
  for (const Allocation& allocation : table.allocations()) {
    const bool is_plain = allocation.buffer && !allocation.is_opaque;
    if (!allocation.common) {
      leaving[allocation.allocate->buffer_var] = &allocation;
      continue;
    }
    if (!is_plain) continue;
    if (const Scope* threads = threads_of(table, allocation)) {
      leaving[allocation.allocate->buffer_var] = &allocation;
      surrounding[threads->stmt].push_back(&allocation);
      continue;
    }
    if (const Scope* place = place_of(table, allocation)) {
      leaving[allocation.allocate->buffer_var] = &allocation;
      arriving[place->stmt].push_back(&allocation);
    }
  }
  if (leaving.empty()) return func;

  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    return leaving.contains(node.buffer_var) ? rewrite(node.body) : rewrite.children(node);
  });
  rewrite.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
    return leaving.contains(node.buffer->data) ? rewrite(node.body) : rewrite.children(node);
  });
  rewrite.on<For>([&](const For& node) -> Stmt {
    const auto under = [](const ByLoop& places, const Ref& loop, Stmt stmt) {
      const auto found = places.find(loop);
      if (found == places.end()) return stmt;
      for (std::size_t i = found->second.size(); i-- > 0;) {
        stmt = allocated(*found->second[i], std::move(stmt));
      }
      return stmt;
    };
    Stmt loop = rewrite.children(node);
    if (arriving.contains(Ref(&node))) {
      For copy = *loop.as<For>();
      copy.body = under(arriving, Ref(&node), copy.body);
      loop = make(std::move(copy));
    }
    return under(surrounding, Ref(&node), loop);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
