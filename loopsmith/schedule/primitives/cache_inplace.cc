// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/cache_inplace.h"

#include <algorithm>

#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"

namespace loopsmith {

Planned<CacheInplacePlan> plan_cache_inplace(const Schedule& schedule,
                                             const CacheInplaceArguments& arguments) {
  auto found = cache_subject_by_index(schedule, arguments.block, arguments.read_buffer_index,
                                      BufferSelector::Side::read, arguments.storage_scope);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  const auto& subject = std::get<CacheSubject>(found);
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  const Block& block = schedule.get(arguments.block);
  if (!writes_buffer(block, buffer)) {
    return Refusal{&block_updates_the_buffer, {Argument(arguments.block), Argument(Ref(buffer))}};
  }
  Handles<BlockRV> others = subject.readers;
  others.insert(others.end(), subject.writers.begin(), subject.writers.end());
  std::erase_if(others, [&](BlockRV other) { return other.index == arguments.block.index; });
  auto place = place_after(schedule, subject.scope, buffer, {arguments.block}, others);
  if (auto* refusal = std::get_if<Refusal>(&place)) return std::move(*refusal);
  CacheInplacePlan plan{.block = arguments.block,
                        .scope = subject.scope,
                        .storage_scope = arguments.storage_scope,
                        .place = std::get<CopyPlace>(place)};
  plan.box = read_region(schedule, buffer, {arguments.block}, plan.place.around);
  for (const auto& region : block.writes) {
    if (!region->buffer.same_as(buffer)) continue;
    plan.box =
        unite(plan.box, accessed_region(schedule, arguments.block, *region, plan.place.around));
  }
  if (!is_written_before(schedule, subject, plan.box, {plan.place.at, plan.place.around})) {
    return changed_results(copied_elements_are_written,
                           {Argument(Ref(buffer)), Argument(arguments.block)});
  }
  plan.widens_regions = !may_read(schedule, subject, plan.box);
  for (const auto& region : schedule.get(plan.scope).writes) {
    const bool is_it = region->buffer.same_as(buffer);
    plan.widens_regions =
        plan.widens_regions ||
        (is_it && !covers(accessed_region_in(schedule, plan.scope, *region), plan.box));
  }
  const NodeId scope = schedule.node(plan.scope);
  plan.preservation = {scope, is_used_apart_from(schedule, *buffer, plan.place.at,
                                                 accesses_in_scope(schedule, scope))};
  return plan;
}

Handles<BlockRV> commit_cache_inplace(Schedule& schedule, CacheInplacePlan&& plan) {
  if (plan.widens_regions) declare_all_used(schedule, plan.scope, plan.box.buffer);
  const bool tile = is_tile(schedule, plan.scope, plan.place, plan.box);
  const Ptr<Buffer> cache =
      allocate_cache(schedule, plan.scope, plan.box, plan.storage_scope, tile);
  change_accesses(schedule, uses_of(schedule, schedule.node(plan.block), plan.box.buffer),
                  change_to_cache(plan.box, cache, tile));
  const BlockRV back =
      insert_copy(schedule, plan.scope, plan.place, plan.box, cache, tile, true, cache->name);
  plan.place.is_after = false;
  const BlockRV there =
      insert_copy(schedule, plan.scope, plan.place, plan.box, cache, tile, false, cache->name);
  return {there, back};
}

}  // namespace loopsmith
