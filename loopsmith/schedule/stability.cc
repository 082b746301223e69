// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/stability.h"

#include <algorithm>

#include "loopsmith/schedule/analysis.h"

namespace loopsmith {
namespace {

/// True when each element of a buffer that the use writes gets one value, and keeps it.
bool is_final(const Schedule& schedule, const BufferUse& use, const ScopeUses& uses) {
  if (!use.is_block) return false;
  const auto kinds = kinds_of(schedule, schedule.block_at(use.place.node), uses);
  return kinds.is_complete() || kinds.is_reduction();
}

}  // namespace

std::optional<Refusal> refuse_unless_inputs_stay(const Schedule& schedule, BlockRV handle,
                                                 const Place& place, const ScopeUses& uses) {
  if (uses.has_foreign_calls) return Refusal{&statements_are_understood, {Argument(handle)}};
  const Place here{schedule.node(handle)};
  const Block& block = schedule.get(handle);
  for (const BufferUse& use : uses.all) {
    if (!use.is_write || use.place.node == here.node) continue;
    const bool is_input = std::ranges::any_of(
        block.reads, [&](const auto& region) { return region->buffer.get() == use.buffer; });
    if (!is_input) continue;
    if (is_before(schedule, use.place, here)) {
      if (shares_loops_with(schedule, use.place, here, place)) continue;
      if (is_final(schedule, use, uses)) continue;
    } else if (is_before(schedule, place, use.place)) {
      if (shares_loops_with(schedule, use.place, place, here)) continue;
    }
    return Refusal{&inputs_stay_as_they_are, {Argument(Ref(use.buffer)), Argument(handle)}};
  }
  return {};
}

}  // namespace loopsmith
