// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_read.h"

#include <algorithm>

#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"
#include "loopsmith/schedule/rewrites/pointer_uses.h"

namespace loopsmith {
namespace {

/// The readers beside `block` of the values that it reads: no writer stands between.
Handles<BlockRV> readers_of_the_same(const Schedule& schedule, const CacheSubject& subject,
                                     BlockRV block) {
  const NodeId place = schedule.node(block);
  Handles<BlockRV> found = subject.readers;
  std::erase_if(found, [&](BlockRV reader) {
    const NodeId other = schedule.node(reader);
    if (other == place) return false;
    return std::ranges::any_of(subject.writers, [&](BlockRV writer) {
      const NodeId between = schedule.node(writer);
      return between == other ||
             is_before(schedule, between, place) != is_before(schedule, between, other);
    });
  });
  return found;
}

/// Copies right behind the writers what they have written, in the loops that they share with some
/// consumer; false where no such place is known.
bool copy_behind_writers(const Schedule& schedule, CacheReadPlan& plan) {
  const CacheSubject& subject = plan.subject;
  const bool is_behind = std::ranges::all_of(subject.writers, [&](BlockRV writer) {
    return std::ranges::all_of(plan.consumers, [&](BlockRV consumer) {
      return is_before(schedule, schedule.node(writer), schedule.node(consumer));
    });
  });
  if (subject.writers.empty() || !is_behind) return false;
  const auto place = place_after(schedule, subject.scope, subject.selected.buffer, subject.writers,
                                 plan.consumers);
  if (std::holds_alternative<Refusal>(place)) return false;
  plan.place = std::get<CopyPlace>(place);
  auto box = written_region(schedule, subject, plan.place.around);
  if (std::holds_alternative<Refusal>(box)) return false;
  plan.box = std::get<AffineRegion>(std::move(box));
  plan.preservation = {schedule.node(subject.scope), false};
  return true;
}

}  // namespace

Planned<CacheReadPlan> plan_cache_read(const Schedule& schedule,
                                       const CacheReadArguments& arguments) {
  auto found = cache_subject(schedule, arguments.block, arguments.read_buffer_index,
                             BufferSelector::Side::read, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  CacheReadPlan plan{.subject = std::get<CacheSubject>(std::move(found)),
                     .storage_scope = arguments.storage_scope};
  const Argument buffer{Ref(plan.subject.selected.buffer)};
  if (arguments.consumer_blocks && !arguments.consumer_blocks->empty()) {
    plan.consumers.assign(arguments.consumer_blocks->begin(), arguments.consumer_blocks->end());
  } else {
    plan.consumers = readers_of_the_same(schedule, plan.subject, arguments.block);
  }
  for (const BlockRV consumer : plan.consumers) {
    const auto is_this = [&](BlockRV other) { return other.index == consumer.index; };
    if (std::ranges::none_of(plan.subject.readers, is_this)) {
      return Refusal{&consumer_reads_the_buffer,
                     {Argument(consumer), buffer, Argument(arguments.block)}};
    }
    if (std::ranges::any_of(plan.subject.writers, is_this)) {
      return changed_results(consumer_does_not_write, {Argument(consumer), buffer});
    }
  }
  auto place = place_before(schedule, plan.subject.scope, plan.subject.selected.buffer,
                            plan.consumers, plan.subject.writers);
  if (auto* refusal = std::get_if<Refusal>(&place)) {
    if (!copy_behind_writers(schedule, plan)) return std::move(*refusal);
    if (auto tile = refuse_pointers_to_tile(schedule, plan.subject, plan.place, plan.box)) {
      return *std::move(tile);
    }
    return plan;
  }
  plan.place = std::get<CopyPlace>(place);
  plan.box = region_to_cache(schedule, plan.subject, plan.consumers, plan.place);
  if (!is_written_before(schedule, plan.subject, plan.box, plan.place)) {
    plan.box =
        read_region(schedule, plan.subject.selected.buffer, plan.consumers, plan.place.around);
    if (!is_written_before(schedule, plan.subject, plan.box, plan.place)) {
      return changed_results(copied_elements_are_written, {buffer, Argument(plan.consumers[0])});
    }
  }
  if (auto tile = refuse_pointers_to_tile(schedule, plan.subject, plan.place, plan.box)) {
    return *std::move(tile);
  }
  const NodeId scope = schedule.node(plan.subject.scope);
  plan.preservation = {scope,
                       is_unchanged_for(schedule, *plan.subject.selected.buffer, plan.consumers,
                                        plan.place.around, accesses_in_scope(schedule, scope))};
  return plan;
}

BlockRV commit_cache_read(Schedule& schedule, CacheReadPlan&& plan) {
  const bool tile = is_tile(schedule, plan.subject.scope, plan.place, plan.box);
  const Ptr<Buffer> cache =
      allocate_cache(schedule, plan.subject.scope, plan.box, plan.storage_scope, tile);
  AccessChange change = change_to_cache(plan.box, cache, tile);
  if (!may_read(schedule, plan.subject, plan.box)) {
    declare_all_used(schedule, plan.subject.scope, plan.box.buffer);
  }
  for (const BlockRV consumer : plan.consumers) {
    const BufferAccesses uses = uses_of(schedule, schedule.node(consumer), plan.box.buffer);
    // A pointer is that of all its accesses, and consumers only read.
    change.writes = !uses.by_indices_alone();
    change_with_views(schedule, uses, change, change.from, cache);
  }
  return insert_copy(schedule, plan.subject.scope, plan.place, plan.box, cache, tile, false,
                     cache->name);
}

}  // namespace loopsmith
