// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/atomic_updates.h"

#include <algorithm>

#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/zero_distance.h"

namespace loopsmith {
namespace {

/// What an iteration of a loop has for itself.
class IterationMemory {
 public:
  IterationMemory(const Schedule& schedule, LoopRV loop) : schedule_(schedule), loop_(loop) {}

  bool holds(const Buffer& buffer) {
    const PrimFunc& func =
        *schedule_.as<PrimFunc>(schedule_.root(schedule_.function_of(schedule_.node(loop_))));
    const auto is_it = [&](const Ptr<Buffer>& other) {
      return other && other->data.same_as(buffer.data);
    };
    if (std::ranges::any_of(func.buffer_map, is_it)) return false;
    if (!shared_) shared_ = conflicting_buffers(schedule_, loop_, Concurrency::in_threads);
    return std::ranges::none_of(*shared_, [&](const auto& each) { return !each || is_it(each); });
  }

 private:
  const Schedule& schedule_;
  LoopRV loop_;
  std::optional<std::vector<Ptr<Buffer>>> shared_;
};

}  // namespace

bool updates_atomically(const Schedule& schedule, LoopRV handle, bool is_requested) {
  const For& loop = schedule.get(handle);
  const std::int64_t* step = as_int(loop.step);
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  if (!step || !accesses.opaque.empty()) return false;
  std::vector<const Buffer*> updated;
  IterationMemory own(schedule, handle);
  for (const ElementAccess& access : accesses.all) {
    const bool is_updated = access.is_write && access.group &&
                            !has_zero_distance(accesses, access, access, *loop.loop_var, *step);
    if (!is_updated || own.holds(*access.buffer)) continue;
    if (memory_scope(*access.buffer) != MemoryScope::global) return false;
    updated.push_back(access.buffer);
  }
  const auto is_updated = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::find(updated, buffer.get()) != updated.end();
  };
  bool is_atomic = !updated.empty();
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) {
      // What has another name is not looked for.
      is_atomic = is_atomic && std::ranges::none_of(block->match_buffers, [&](const auto& view) {
                    return is_updated(view->source->buffer);
                  });
    }
    if (const auto* store = ref.as<BufferStore>(); store && is_updated(store->buffer)) {
      is_atomic =
          is_atomic && (is_requested ? atomic_update_of(*store) : atomic_update_in(loop, *store));
    }
    return is_atomic && !is_expr(*ref.get());
  });
  return is_atomic;
}

}  // namespace loopsmith
