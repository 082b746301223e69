// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/stability.h"

#include <algorithm>

#include "loopsmith/schedule/analysis.h"
#include "loopsmith/schedule/early_touches.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

bool is_read(const Block& block, const Buffer* buffer) {
  return std::ranges::any_of(block.reads,
                             [&](const auto& region) { return region->buffer.get() == buffer; });
}

/// True when each element that the use writes gets one value, and keeps it, and none is read by
/// what moves from `here` to `place` before it has that.
bool is_final(const Schedule& schedule, const BufferUse& use, const ScopeUses& uses,
              const Place& here, const Place& place) {
  if (!use.is_block || use.by_view) return false;
  const BlockRV writer = schedule.block_at(use.place.node);
  const auto kinds = kinds_of(schedule, writer, uses);
  return (kinds.is_complete() || kinds.is_reduction()) &&
         !touches_before(schedule, here, writer, use.buffer, place, uses);
}

/// Whether iterations of loops that write the same elements again write the same values: where all
/// that they read is either written outside of the loops, or one value, and made from such.
class Repetition {
 public:
  Repetition(const Schedule& schedule, NodeId outermost, const ScopeUses& uses)
      : schedule_(schedule), outermost_(outermost), uses_(uses) {}

  bool is_alike(const BufferUse& write) {
    if (!write.is_block || write.by_view) return false;
    const NodeId producer = write.place.node;
    if (std::ranges::find(asked_, producer) != asked_.end()) return true;
    asked_.push_back(producer);
    const Block& block = schedule_.get(schedule_.block_at(producer));
    return std::ranges::all_of(uses_.all, [&](const BufferUse& use) {
      const bool is_input = use.is_write && use.place.node != producer &&
                            is_read(block, use.buffer) &&
                            is_inside(schedule_, use.place, outermost_);
      return !is_input || (is_one_value(use) && deep_call([&] { return is_alike(use); }));
    });
  }

 private:
  bool is_one_value(const BufferUse& use) const {
    if (!use.is_block || use.by_view) return false;
    const BlockRV writer = schedule_.block_at(use.place.node);
    return kinds_of(schedule_, writer, uses_).is_complete() && !is_output_block(schedule_, writer);
  }

  const Schedule& schedule_;
  const NodeId outermost_;
  const ScopeUses& uses_;
  std::vector<NodeId> asked_;
};

}  // namespace

bool repeats_alike(const Schedule& schedule, const BufferUse& write, NodeId outermost,
                   const ScopeUses& uses) {
  return Repetition(schedule, outermost, uses).is_alike(write);
}

std::optional<Refusal> refuse_unless_inputs_stay(const Schedule& schedule, BlockRV handle,
                                                 const Place& place, const ScopeUses& uses) {
  if (uses.has_foreign_calls) return Refusal{&statements_are_understood, {Argument(handle)}};
  const Place here{schedule.node(handle)};
  const Block& block = schedule.get(handle);
  for (const BufferUse& use : uses.all) {
    if (!use.is_write || use.place.node == here.node) continue;
    if (!is_read(block, use.buffer)) continue;
    if (is_before(schedule, use.place, here)) {
      if (shares_loops_with(schedule, use.place, here, place)) continue;
      if (is_final(schedule, use, uses, here, place)) continue;
    } else if (is_before(schedule, place, use.place)) {
      if (shares_loops_with(schedule, use.place, place, here)) continue;
    }
    return Refusal{&inputs_stay_as_they_are, {Argument(Ref(use.buffer)), Argument(handle)}};
  }
  return {};
}

std::optional<Refusal> refuse_unless_inputs_are_alike(const Schedule& schedule, BlockRV handle,
                                                      LoopRV outermost, const ScopeUses& uses) {
  const NodeId loop = schedule.node(outermost);
  for (const BufferUse& use : uses.all) {
    const bool is_input = use.is_write && use.place.node != schedule.node(handle) &&
                          is_read(schedule.get(handle), use.buffer) &&
                          is_inside(schedule, use.place, loop);
    if (is_input && !(is_born(schedule, use, uses) && repeats_alike(schedule, use, loop, uses))) {
      return Refusal{&inputs_stay_as_they_are, {Argument(Ref(use.buffer)), Argument(handle)}};
    }
  }
  return {};
}

}  // namespace loopsmith
