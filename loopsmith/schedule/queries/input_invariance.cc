// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/input_invariance.h"

#include <algorithm>

#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

bool is_read(const Block& block, const Buffer* buffer) {
  return std::ranges::any_of(block.reads,
                             [&](const auto& region) { return region->buffer.get() == buffer; });
}

/// Whether iterations of loops that write the same elements again write the same values: where all
/// that they read is either written outside of the loops, or one value, and made from such.
class Repetition {
 public:
  Repetition(const Schedule& schedule, NodeId outermost, const ScopeAccesses& uses)
      : schedule_(schedule), outermost_(outermost), uses_(uses) {}

  bool is_alike(const BufferAccess& write) {
    if (!write.is_block || write.by_view) return false;
    const NodeId producer = write.place.node;
    if (std::ranges::find(asked_, producer) != asked_.end()) return true;
    asked_.push_back(producer);
    const Block& block = schedule_.get(schedule_.block_at(producer));
    return std::ranges::all_of(uses_.all, [&](const BufferAccess& use) {
      const bool is_input = use.is_write && use.place.node != producer &&
                            is_read(block, use.buffer) &&
                            is_inside(schedule_, use.place, outermost_);
      return !is_input || (is_one_value(use) && deep_call([&] { return is_alike(use); }));
    });
  }

 private:
  bool is_one_value(const BufferAccess& use) const {
    if (!use.is_block || use.by_view) return false;
    const BlockRV writer = schedule_.block_at(use.place.node);
    return kinds_of(schedule_, writer, uses_).is_complete() && !is_output_block(schedule_, writer);
  }

  const Schedule& schedule_;
  const NodeId outermost_;
  const ScopeAccesses& uses_;
  std::vector<NodeId> asked_;
};

}  // namespace

bool is_idempotent(const Schedule& schedule, const BufferAccess& write, NodeId outermost,
                   const ScopeAccesses& uses) {
  return Repetition(schedule, outermost, uses).is_alike(write);
}

}  // namespace loopsmith
