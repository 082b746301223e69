// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/pointer_caches.h"

#include "loopsmith/schedule/conditions.h"

namespace loopsmith {
namespace {

std::optional<Refusal> refuse_pointers(const Schedule& schedule, const CacheSubject& subject) {
  const Ptr<Buffer>& buffer = subject.selected.buffer;
  if (uses_of(schedule, schedule.node(subject.scope), buffer).by_indices_alone()) return {};
  return Refusal{&buffer_is_used_by_index, {Argument(Ref(buffer))}};
}

}  // namespace

std::variant<CacheSubject, Refusal> cache_subject_by_index(const Schedule& schedule, BlockRV block,
                                                           const BufferSelector& selector,
                                                           BufferSelector::Side side,
                                                           std::string_view storage_scope) {
  auto found = cache_subject(schedule, block, selector, side, storage_scope);
  const auto* subject = std::get_if<CacheSubject>(&found);
  if (!subject) return found;
  if (auto refusal = refuse_pointers(schedule, *subject)) return *std::move(refusal);
  return found;
}

std::optional<Refusal> refuse_pointers_to_tile(const Schedule& schedule,
                                               const CacheSubject& subject, const CopyPlace& place,
                                               const AffineRegion& box) {
  if (!is_tile(schedule, subject.scope, place, box)) return {};
  return refuse_pointers(schedule, subject);
}

}  // namespace loopsmith
