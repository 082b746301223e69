// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/make_updates_atomic.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

using Stores = std::unordered_set<const Object*>;

bool runs_in_threads(const For& loop) {
  if (loop.kind != ForKind::thread_binding) return loop.kind == ForKind::parallel;
  return thread_axis_of(loop) != ThreadAxis::virtual_thread;
}

bool has_update(const For& loop) {
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    found = found || (store && atomic_update_in(loop, *store));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// The updates of elements that several iterations of the loop update; `nest` is that loop inside
/// of what stands around it.
void find_updates(const For& loop, const Stmt& nest, const std::vector<Ptr<Buffer>>& allocated,
                  Stores& updates) {
  Dependences dependences(nest, {.local_buffers = allocated});
  const DependenceAnswer answer = dependences.parallelizable(loop.loop_var);
  if (answer && !answer.reductions) return;
  // Where not all is known of the loop, what the function allocates may yet become its own.
  const auto& own = answer ? answer.private_buffers : allocated;
  for (const CarriedDependence& carried : dependences.carried(loop.loop_var)) {
    const bool is_own = std::ranges::any_of(
        own, [&](const Ptr<Buffer>& buffer) { return buffer.same_as(carried.buffer); });
    if (!carried.is_reduction || is_own) continue;
    for (const Stmt& stmt : {carried.source, carried.sink}) {
      const auto* store = stmt.as<BufferStore>();
      if (store && atomic_update_in(loop, *store)) updates.insert(store);
    }
  }
}

}  // namespace

Ptr<PrimFunc> make_updates_atomic(const Ptr<PrimFunc>& func) {
  Stores updates;
  std::vector<Ptr<Buffer>> allocated;
  const auto may_update = [](const For& loop) { return runs_in_threads(loop) && has_update(loop); };
  each_loop_alone(func->body, may_update, [&](const For& loop, const Stmt& nest) {
    if (allocated.empty()) allocated = allocated_buffers(func->body);
    find_updates(loop, nest, allocated, updates);
  });
  if (updates.empty()) return func;

  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    if (!updates.contains(&node)) return rewrite.children(node);
    const AtomicUpdate update = *atomic_update_of(node);
    const Expr element = make(BufferLoad{.buffer = node.buffer, .indices = node.indices});
    const Expr address = call(handle_type, op("address_of"), {element});
    return make(Evaluate{.value = call(node.buffer->dtype, update.op, {address, update.operand})});
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
