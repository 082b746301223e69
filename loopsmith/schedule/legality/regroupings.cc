// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/regroupings.h"

#include <algorithm>

#include "loopsmith/arith/regrouping.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/changed_nests.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

/// The buffers that are allocated around a statement.
std::vector<Ptr<Buffer>> allocated_around(const Schedule& schedule, NodeId node) {
  std::vector<Ptr<Buffer>> found;
  for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
    if (const auto* realize = schedule.as<BlockRealize>(at)) {
      const auto& own = realize->block->alloc_buffers;
      found.insert(found.end(), own.begin(), own.end());
    } else if (const auto* declared = schedule.as<DeclBuffer>(at)) {
      const auto* allocate = schedule.as<Allocate>(schedule.at(at).parent);
      const bool is_own = allocate && allocate->buffer_var.same_as(declared->buffer->data);
      if (is_own) found.push_back(declared->buffer);
    }
  }
  return found;
}

/// What the loop is to record; null: nothing.
Ref record_of(const Schedule& schedule, LoopRV handle, bool is_independent) {
  const For& loop = schedule.get(handle);
  if (!runs_in_threads(loop) || !may_regroup(loop)) return {};
  std::vector<Ptr<Buffer>> found;
  if (!is_independent) {
    const CarriedDependences carries = carried_by(schedule, handle, concurrency_of(loop));
    if (carries.is_reduction) {
      auto proved = regrouped_by(schedule, handle, loop);
      if (!proved) return {};
      found = *std::move(proved);
    } else if (!carries.verdict.is_proved()) {
      const NodeId node = schedule.node(handle);
      const Stmt nest = under_path_condition(schedule, whole_nest(schedule, node));
      Regrouping trusted = regrouping_on_trust(loop, nest, allocated_around(schedule, node));
      if (trusted.ordered) return {};
      found = std::move(trusted.buffers);
    }
  }
  std::vector<std::string> names;
  for (const Ptr<Buffer>& buffer : found) names.push_back(buffer->name);
  return with_regrouped(loop, names).annotations.get(regroups_key);
}

void record(Schedule& schedule, LoopRV handle, bool is_independent) {
  const Ref record = record_of(schedule, handle, is_independent);
  if (!record.defined() && !schedule.get(handle).annotations.contains(regroups_key)) return;
  For& loop = schedule.edit(handle);
  loop.annotations = loop.annotations.with(regroups_key, record);
}

}  // namespace

std::optional<std::vector<Ptr<Buffer>>> regrouped_by(const Schedule& schedule, LoopRV handle,
                                                     const For& planned) {
  const std::vector<Ptr<Buffer>> shared =
      conflicting_buffers(schedule, handle, concurrency_of(planned));
  const auto is_known = [](const Ptr<Buffer>& buffer) { return buffer.defined(); };
  if (shared.empty() || !std::ranges::all_of(shared, is_known)) return {};
  const Stmt nest = under_path_condition(schedule, whole_nest(schedule, schedule.node(handle)));
  Regrouping found = regrouping_of(planned, nest, shared);
  return found.ordered ? std::nullopt : std::optional(std::move(found.buffers));
}

bool may_reduce_concurrently(const Schedule& schedule, LoopRV loop, const For& planned) {
  return concurrency_of(planned) == Concurrency::in_lanes || regrouped_by(schedule, loop, planned);
}

bool updates_atomically(const Schedule& schedule, LoopRV loop, const For& planned) {
  const auto buffers = regrouped_by(schedule, loop, planned);
  return buffers && std::ranges::all_of(*buffers, [&](const Ptr<Buffer>& buffer) {
           return updates_are_atomic(planned, buffer);
         });
}

void record_regrouping(Schedule& schedule, LoopRV loop) {
  record(schedule, loop, schedule.known_facts().has_independent_iterations(loop));
}

void renew_regroupings(Schedule& schedule) {
  if (!schedule.has_concurrent_loops()) return;
  std::vector<LoopRV> recorded;
  each_changed_node(schedule, nullptr, [&](NodeId node) {
    const auto* loop = schedule.at(node).is_concurrent ? schedule.as<For>(node) : nullptr;
    if (loop && loop->annotations.contains(regroups_key)) {
      recorded.push_back(schedule.loop_at(node));
    }
    return true;
  });
  for (const LoopRV loop : recorded) record(schedule, loop, /*is_independent=*/false);
}

}  // namespace loopsmith
