// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/atomic_sums.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/accesses.h"
#include "loopsmith/schedule/at_once.h"
#include "loopsmith/schedule/reducers.h"

namespace loopsmith {

Expr atomically_added(const BufferStore& store) {
  const DataType type = store.buffer->dtype;
  const bool is_word =
      type.is_integer() && type.is_scalar() && (type.bits == 32 || type.bits == 64);
  if (!is_word || store.value.dtype() != type || store.predicate.defined()) return nullptr;
  const auto reducers = known_reducers();
  const auto sum = std::ranges::find(reducers, "sum", &KnownReducer::name);
  const Expr before = make(BufferLoad{.buffer = store.buffer, .indices = store.indices});
  const auto added = right_side_of(*sum, {store.value}, {before});
  return added ? (*added)[0] : nullptr;
}

bool adds_atomically(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  const std::int64_t* step = as_int(loop.step);
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  if (!step || !accesses.opaque.empty()) return false;
  std::vector<const Buffer*> sums;
  for (const ElementAccess& access : accesses.all) {
    const bool is_sum = access.is_write && access.group &&
                        !is_pinned(accesses, access, access, *loop.loop_var, *step);
    if (!is_sum) continue;
    const std::string_view scope = access.buffer->scope();
    if (!scope.empty() && scope != "global") return false;
    sums.push_back(access.buffer);
  }
  const auto is_sum = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::find(sums, buffer.get()) != sums.end();
  };
  bool is_atomic = !sums.empty();
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) {
      // What has another name is not looked for.
      is_atomic = is_atomic && std::ranges::none_of(block->match_buffers, [&](const auto& view) {
                    return is_sum(view->source->buffer);
                  });
    }
    if (const auto* store = ref.as<BufferStore>(); store && is_sum(store->buffer)) {
      is_atomic = is_atomic && atomically_added(*store).defined();
    }
    return is_atomic && !is_expr(*ref.get());
  });
  return is_atomic;
}

bool may_reduce_at_once(const Schedule& schedule, LoopRV loop, AtOnce how) {
  return has_partial_results(schedule, loop, how) || adds_atomically(schedule, loop);
}

}  // namespace loopsmith
