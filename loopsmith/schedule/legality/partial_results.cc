// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/partial_results.h"

#include <algorithm>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/queries/access_relations.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/path_condition.h"
#include "loopsmith/schedule/queries/zero_distance.h"

namespace loopsmith {
namespace {

/// The buffers of which several iterations of a loop update elements together.
std::vector<Ptr<Buffer>> shared_results(const For& loop, const ElementAccesses& accesses) {
  std::vector<Ptr<Buffer>> shared;
  const std::int64_t* step = as_int(loop.step);
  for (const ElementAccess& access : accesses.all) {
    const bool is_shared = step && access.is_write && access.group &&
                           !accesses.owned.contains(access.buffer) &&
                           !has_zero_distance(accesses, access, access, *loop.loop_var, *step);
    const Ptr<Buffer> buffer(access.buffer);
    const auto is_buffer = [&](const Ptr<Buffer>& other) { return other.same_as(buffer); };
    if (is_shared && std::ranges::none_of(shared, is_buffer)) shared.push_back(buffer);
  }
  return shared;
}

/// True when the init of a block may run before a loop around it.
bool may_start_before(const Schedule& schedule, BlockRV block, LoopRV loop) {
  auto planned = plan_decompose_reduction(schedule, {.block = block, .loop = loop});
  auto* plan = std::get_if<DecomposeReductionPlan>(&planned);
  if (!plan) return false;
  const Preservation asked = *plan->preservation;
  if (asked.is_proved) return true;
  Schedule after = schedule.snapshot();
  commit_decompose_reduction(after, std::move(*plan));
  return !refuse_changed_results(schedule, after, asked);
}

}  // namespace

std::optional<Refusal> refuse_reads_of_results(const Schedule& schedule, LoopRV loop) {
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(loop));
  return refuse_own_reads(schedule, loop, shared_results(schedule.get(loop), accesses));
}

bool accumulator_is_private(const Schedule& schedule, LoopRV handle,
                            std::span<const Ptr<Buffer>> own) {
  const For& loop = schedule.get(handle);
  const ElementAccesses accesses = accesses_inside(schedule, schedule.node(handle));
  if (!accesses.opaque.empty()) return false;
  const auto is_one_of = [](std::span<const Ptr<Buffer>> buffers, const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(buffers, [&](const auto& each) { return each.same_as(buffer); });
  };
  std::vector<Ptr<Buffer>> shared = shared_results(loop, accesses);
  std::erase_if(shared, [&](const Ptr<Buffer>& buffer) { return is_one_of(own, buffer); });
  const bool is_visible = std::ranges::all_of(shared, [](const Ptr<Buffer>& buffer) {
    const MemoryScope scope = memory_scope(*buffer);
    const bool is_plain = scope == MemoryScope::global || scope == MemoryScope::local;
    return buffer->dtype.is_scalar() && is_plain;
  });
  if (shared.empty() || !is_visible) return false;
  const NodeId nest = whole_nest(schedule, schedule.node(handle));
  const auto found = accumulators_of(loop, shared, under_path_condition(schedule, nest));
  if (!found) return false;
  // A loop that is too short for parts runs as it is.
  if (partial_result_count(loop, *found) == 0) return false;
  return std::ranges::all_of(child_blocks(schedule, schedule.node(handle)), [&](BlockRV block) {
    const bool has_init = schedule.get(block).init &&
                          std::ranges::any_of(schedule.get(block).writes, [&](const auto& region) {
                            return is_one_of(shared, region->buffer);
                          });
    return !has_init || may_start_before(schedule, block, handle);
  });
}

}  // namespace loopsmith
