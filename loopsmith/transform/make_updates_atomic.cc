// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/make_updates_atomic.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Stores = std::unordered_set<const Object*>;

/// The updates in the loop that it records, and that are not made apart.
void find_updates(const For& loop, Stores& updates) {
  const std::vector<Ptr<Buffer>> buffers = regrouped_buffers(loop);
  if (buffers.empty()) return;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto is_it = [&](const Ptr<Buffer>& each) { return each.same_as(store->buffer); };
    if (store && std::ranges::any_of(buffers, is_it) && atomic_update_in(loop, *store)) {
      updates.insert(store);
    }
    return !is_expr(*ref.get());
  });
}

}  // namespace

Ptr<PrimFunc> make_updates_atomic(const Ptr<PrimFunc>& func) {
  Stores updates;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    if (loop && runs_in_threads(*loop)) find_updates(*loop, updates);
    return !is_expr(*ref.get());
  });
  Rewriter rewrite;
  // What is recorded has done its duty.
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    if (!loop->annotations.contains(regroups_key)) return loop;
    For copy = *loop;
    copy.annotations = copy.annotations.with(regroups_key, nullptr);
    return make(std::move(copy));
  });
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
