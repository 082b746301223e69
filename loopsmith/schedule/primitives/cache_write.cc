// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_write.h"

#include <algorithm>

#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"
#include "loopsmith/schedule/rewrites/pointer_uses.h"

namespace loopsmith {
Planned<CacheWritePlan> plan_cache_write(const Schedule& schedule,
                                         const CacheWriteArguments& arguments) {
  auto found = cache_subject(schedule, arguments.block, arguments.write_buffer_index,
                             BufferSelector::Side::write, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  CacheWritePlan plan{.subject = std::get<CacheSubject>(std::move(found)),
                      .storage_scope = arguments.storage_scope};
  const CacheSubject& subject = plan.subject;
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  if (arguments.consumer_blocks) {
    plan.consumers.assign(arguments.consumer_blocks->begin(), arguments.consumer_blocks->end());
  }
  Handles<BlockRV> others = subject.readers;
  std::erase_if(others, [&](BlockRV reader) {
    return contains(subject.writers, reader) || contains(plan.consumers, reader);
  });
  auto place = place_after(schedule, subject.scope, buffer, subject.writers, others);
  if (auto* refusal = std::get_if<Refusal>(&place)) return std::move(*refusal);
  plan.place = std::get<CopyPlace>(place);
  auto box = written_region(schedule, subject, plan.place.around);
  if (auto* refusal = std::get_if<Refusal>(&box)) return std::move(*refusal);
  plan.box = std::get<AffineRegion>(std::move(box));
  if (auto tile = refuse_pointers_to_tile(schedule, subject, plan.place, plan.box)) {
    return *std::move(tile);
  }
  for (const BlockRV writer : subject.writers) {
    const bool reads_first =
        contains(subject.readers, writer) && !is_filled_for(schedule, subject, writer);
    if (reads_first || continues_reduction(schedule, subject.scope, writer)) {
      return changed_results(writer_does_not_read_first, {Argument(writer), Argument(Ref(buffer))});
    }
  }
  for (const BlockRV consumer : plan.consumers) {
    if (!contains(subject.readers, consumer)) {
      return Refusal{&consumer_reads_the_buffer,
                     {Argument(consumer), Argument(Ref(buffer)), Argument(arguments.block)}};
    }
    if (contains(subject.writers, consumer)) continue;
    if (!is_filled_for(schedule, subject, consumer)) {
      return changed_results(consumer_reads_what_is_cached,
                             {Argument(consumer), Argument(Ref(buffer))});
    }
  }
  const NodeId scope = schedule.node(subject.scope);
  const ScopeAccesses uses = accesses_in_scope(schedule, scope);
  const bool is_alone = subject.writers.size() == 1 && plan.consumers.empty();
  const bool is_proved =
      is_alone && ((writes_each_once(schedule, subject.writers[0], uses) &&
                    is_used_apart_from(schedule, *buffer, plan.place.at, uses)) ||
                   computes_alone(schedule, plan.place.at, subject.writers[0], buffer, uses));
  plan.preservation = {scope, is_proved};
  return plan;
}

BlockRV commit_cache_write(Schedule& schedule, CacheWritePlan&& plan) {
  const bool tile = is_tile(schedule, plan.subject.scope, plan.place, plan.box);
  const Ptr<Buffer> cache =
      allocate_cache(schedule, plan.subject.scope, plan.box, plan.storage_scope, tile);
  const AccessChange change = change_to_cache(plan.box, cache, tile);
  Handles<BlockRV> changed = plan.subject.writers;
  for (const BlockRV consumer : plan.consumers) {
    if (!contains(changed, consumer)) changed.push_back(consumer);
  }
  for (const BlockRV block : changed) {
    change_with_views(schedule, uses_of(schedule, schedule.node(block), plan.box.buffer), change,
                      change.from, cache);
  }
  return insert_copy(schedule, plan.subject.scope, plan.place, plan.box, cache, tile, true,
                     cache->name);
}

}  // namespace loopsmith
