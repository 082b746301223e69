// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/plan_allocations.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/coverage.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// So many loops are tried, from the innermost outwards.
constexpr int most_attempts = 3;

/// The loop whose body the allocation moves into; null: it stays.
const Scope* place_of(AccessTable& table, const Allocation& allocation) {
  int attempts = 0;
  for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
    if (s->stmt.is<While>()) return nullptr;  // Out of one there is no way back in.
  }
  for (const Scope* s = allocation.common; s != allocation.inside; s = s->parent) {
    if (!s->stmt.is<For>()) continue;
    if (++attempts > most_attempts) return nullptr;
    // An opaque use may read anything.
    if (!allocation.is_opaque && writes_before_reads(table, allocation, s)) return s;
  }
  return nullptr;
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
  std::unordered_map<Ref, std::vector<const Allocation*>, RefHash, RefEqual> arriving;
  std::unordered_map<Ref, const Allocation*, RefHash, RefEqual> leaving;  // By their pointer.
  for (const Allocation& allocation : table.allocations()) {
    const bool is_plain = allocation.buffer && !allocation.is_opaque;
    if (!allocation.common) {
      leaving[allocation.allocate->buffer_var] = &allocation;
    } else if (const Scope* place = is_plain ? place_of(table, allocation) : nullptr) {
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
    const auto found = arriving.find(Ref(&node));
    if (found == arriving.end()) return rewrite.children(node);
    For copy = node;
    copy.body = rewrite(node.body);
    for (std::size_t i = found->second.size(); i-- > 0;) {
      copy.body = allocated(*found->second[i], copy.body);
    }
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
