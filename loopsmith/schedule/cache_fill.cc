// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/cache_fill.h"

#include <algorithm>

namespace loopsmith {

std::variant<Box, Refusal> box_written(const Schedule& schedule, const CacheSubject& subject,
                                       NodeId around) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  std::optional<Box> all;
  for (const BlockRV writer : subject.writers) {
    const NodeId from = child_towards(schedule, schedule.node(writer), around);
    const auto box = box_stored(schedule, from, buffer);
    if (!box) return Refusal{&written_box_is_known, {Argument(Ref(buffer)), Argument(writer)}};
    const Box joined = all ? unite(*all, *box) : *box;
    // One of them fills the hull of all.
    if (all && !covers(*all, joined) && !covers(*box, joined)) {
      return Refusal{&written_box_is_known, {Argument(Ref(buffer)), Argument(writer)}};
    }
    all = joined;
  }
  return *all;
}

bool is_filled_for(const Schedule& schedule, const CacheSubject& subject, BlockRV reader) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  const NodeId place = schedule.node(reader);
  return std::ranges::any_of(subject.writers, [&](BlockRV writer) {
    const NodeId node = schedule.node(writer);
    if (!is_before(schedule, node, place)) return false;
    const NodeId shared = common_ancestor(schedule, node, place);
    const auto filled = box_stored(schedule, child_towards(schedule, node, shared), buffer);
    return filled && covers(*filled, box_read(schedule, buffer, {reader}, shared));
  });
}

}  // namespace loopsmith
