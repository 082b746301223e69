// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_conflicts.h"

#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/storage_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// The memory that a statement uses and threads share, by its pointer: whether it is written.
std::unordered_map<const Object*, bool> shared_uses(const Stmt& stmt) {
  std::unordered_map<const Object*, bool> uses;
  const auto add = [&](const Buffer& buffer, bool is_write) {
    if (!is_of_each_thread(buffer.scope())) uses[buffer.data.get()] |= is_write;
  };
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) add(*store->buffer, true);
    if (const auto* load = ref.as<BufferLoad>()) add(*load->buffer, false);
    return true;
  });
  return uses;
}

bool share_memory(const Stmt& first, const Stmt& second) {
  const auto of_second = shared_uses(second);
  for (const auto& [pointer, is_write] : shared_uses(first)) {
    const auto found = of_second.find(pointer);
    if (found != of_second.end() && (is_write || found->second)) return true;
  }
  return false;
}

std::unordered_set<const Object*> statements_in(const Stmt& stmt) {
  std::unordered_set<const Object*> found;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (!is_expr(*ref.get())) found.insert(ref.get());
    return !is_expr(*ref.get());
  });
  return found;
}

/// That `value` is one of the values of the loop's variable; less where its step has a size.
Expr is_in_range(const For& loop, const Expr& value) {
  if (!is_const_int(loop.step, 1)) return true;
  return loop.min <= value && value < loop.min + loop.extent;
}

/// `body` where what is known in `around` holds; loops there are in one and the same iteration.
Stmt inside(const Stmt& around, Stmt body) {
  if (const auto* loop = around.as<For>()) {
    return guarded(is_in_range(*loop, loop->loop_var), std::move(body));
  }
  return with_body(around, std::move(body));
}

/// Without stores to fragments, which are of a warp each and are no index of anything:
/// `F[i] = S[i]` reads `S[i]`.
ThreadAccess without_fragments(const ThreadAccess& access) {
  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    if (!is_fragment(node.buffer->scope())) return Stmt(&node);
    return make(Evaluate{.value = node.value});
  });
  ThreadAccess copy = access;
  copy.nest = rewrite(access.nest);
  return copy;
}

}  // namespace

bool ThreadConflicts::carries(const ThreadAccess& first, const ThreadAccess& second, Stmt both,
                              const std::vector<Stmt>& around) const {
  for (std::size_t i = around.size(); i-- > 0;) both = inside(around[i], std::move(both));
  for (std::size_t i = threads_.size(); i-- > 0;) {
    For loop = *threads_[i];
    loop.kind = ForKind::serial;
    loop.thread_binding = nullptr;
    loop.body = std::move(both);
    both = make(std::move(loop));
  }
  const auto of_first = statements_in(first.nest), of_second = statements_in(second.nest);
  const auto is_between = [&](const Stmt& a, const Stmt& b) {
    return of_first.contains(a.get()) && of_second.contains(b.get());
  };
  Dependences dependences(both);
  for (const Ptr<For>& loop : threads_) {
    for (const CarriedDependence& each : dependences.carried(loop->loop_var)) {
      const bool is_own = each.buffer && is_of_each_thread(each.buffer->scope());
      const bool is_ours = is_between(each.source, each.sink) || is_between(each.sink, each.source);
      if (!is_own && is_ours) return true;
    }
  }
  return false;
}

bool ThreadConflicts::may_conflict(const ThreadAccess& first, const ThreadAccess& second,
                                   const std::vector<Stmt>& around) const {
  if (first.is_atomic && second.is_atomic) return false;
  if (first.is_opaque || second.is_opaque) return true;
  if (!share_memory(first.nest, second.nest)) return false;
  const ThreadAccess one = without_fragments(first);
  ThreadAccess other = without_fragments(second);
  other.nest = clone_with(other.nest, {});
  return carries(one, other, seq({one.nest, other.nest}), around);
}

bool ThreadConflicts::may_conflict_later(const ThreadAccess& first, const ThreadAccess& second,
                                         const For& loop, bool is_next,
                                         const std::vector<Stmt>& around) const {
  if (first.is_atomic && second.is_atomic) return false;
  if (first.is_opaque || second.is_opaque) return true;
  if (!share_memory(first.nest, second.nest)) return false;
  const Ptr<Var>& variable = loop.loop_var;
  const Ptr<Var> distance = var("distance", variable->dtype);
  const Expr next = int_imm(variable->dtype, 1);
  const Expr later = variable + (is_next ? next : Expr(distance)) * loop.step;
  const ThreadAccess one = without_fragments(first);
  ThreadAccess other = without_fragments(second);
  other.nest = clone_with(other.nest, {{variable, later}});
  Stmt both = seq({one.nest, other.nest});
  both = guarded(is_in_range(loop, variable) && is_in_range(loop, later), std::move(both));
  if (!is_next) both = guarded(distance >= next, std::move(both));
  return carries(one, other, std::move(both), around);
}

}  // namespace loopsmith
