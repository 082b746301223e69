// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/at_once.h"

#include <algorithm>

#include "loopsmith/schedule/legality/atomic_updates.h"
#include "loopsmith/schedule/legality/cut_reduction.h"
#include "loopsmith/schedule/legality/partial_results.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// Calls `visit` for each loop that runs its iterations at once and stands in a nest that the
/// snapshot does not have so; stops at false.
template <class Visit>
void each_loop_at_once(const Schedule& schedule, const Schedule* snapshot, Visit&& visit) {
  struct Open {
    NodeId node;
    bool is_in_nest;
  };
  std::vector<Open> open;
  for (std::uint32_t i = 0; i < schedule.original()->functions.size(); ++i) {
    open.push_back({schedule.root(i), false});
  }
  while (!open.empty()) {
    const auto [node, is_in_nest] = open.back();
    open.pop_back();
    // What a loop carries is a matter of its whole nest.
    if (!is_in_nest && snapshot && schedule.is_same_in(*snapshot, node)) continue;
    const TreeNode& place = schedule.at(node);
    if (place.is_at_once && !visit(schedule.loop_at(node))) return;
    const bool is_nest = is_in_nest || schedule.as<For>(node);
    for (NodeId child = place.first_child; child != no_node; child = schedule.at(child).next) {
      open.push_back({child, is_nest});
    }
  }
}

AtOnce how_of(const For& loop) {
  if (loop.kind == ForKind::vectorized) return AtOnce::in_lanes;
  if (loop.kind == ForKind::parallel) return AtOnce::in_threads;
  return how_bound(loop.thread_binding->thread_tag);
}

std::string_view word_of(const For& loop) {
  if (loop.kind == ForKind::thread_binding) return loop.thread_binding->thread_tag;
  return loop.kind == ForKind::parallel ? "parallel" : "vectorized";
}

/// Why a loop over threads may not be inside another one over the same.
std::optional<Refusal> sharing_conflict_of(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  if (loop.kind != ForKind::thread_binding) return {};
  const std::string& axis = loop.thread_binding->thread_tag;
  const NodeId node = schedule.node(handle);
  for (NodeId at = schedule.at(node).parent; at != no_node; at = schedule.at(at).parent) {
    const auto* around = schedule.as<For>(at);
    if (!around || around->kind != ForKind::thread_binding) continue;
    if (around->thread_binding->thread_tag != axis) continue;
    if (may_share_out(schedule, schedule.loop_at(at), handle)) continue;
    return Refusal{
        &threads_share_out_fills,
        {Argument(loop.loop_var->name), Argument(axis), Argument(around->loop_var->name)}};
  }
  return {};
}

/// Why the order of its iterations does not let a loop run them at once.
std::optional<Refusal> order_conflict_of(const Schedule& schedule, LoopRV handle) {
  const For& loop = schedule.get(handle);
  const AtOnce how = how_of(loop);
  LoopCarries carries = carried_by(schedule, handle, how);
  if (carries.verdict.is_proved()) return {};
  if (carries.is_reduction && may_reduce_at_once(schedule, handle, how, carries)) return {};
  return Refusal{&loops_at_once_stay_right,
                 {Argument(loop.loop_var->name), Argument(word_of(loop))},
                 std::move(carries.verdict.witness)};
}

using ConflictOf = std::optional<Refusal>(const Schedule&, LoopRV);

/// True when the loop ran its iterations at once before in spite of such a conflict.
bool had_conflict(const Schedule& before, LoopRV loop, ConflictOf& conflict_of) {
  bool had = false;
  each_loop_at_once(before, nullptr, [&](LoopRV other) {
    if (other.index != loop.index) return true;
    had = conflict_of(before, other).has_value();
    return false;
  });
  return had;
}

}  // namespace

bool has_partial_results(const Schedule& schedule, LoopRV loop, AtOnce how) {
  if (how == AtOnce::in_lanes) return true;  // One a lane, combined at the end.
  // Blocks do not wait for each other.
  if (how == AtOnce::in_blocks) return false;
  if (schedule.get(loop).kind != ForKind::serial) {
    Schedule as_serial = schedule.snapshot();
    as_serial.set_kind(loop, ForKind::serial);
    return has_partial_results(as_serial, loop, how);
  }
  if (how == AtOnce::in_threads) {
    // Each thread has a part of the loop.
    Schedule in_parts = schedule.snapshot();
    auto cut = plan_split(in_parts, {.loop = loop, .factors = {Factor(infer), Factor(2)}});
    if (!std::holds_alternative<SplitPlan>(cut)) return false;
    loop = commit_split(in_parts, std::get<SplitPlan>(std::move(cut)))[0];
    return std::holds_alternative<RfactorPlan>(plan_rfactor(in_parts, {.loop = loop}));
  }
  if (const auto apart = with_reduction_apart(schedule, loop)) {
    return has_partial_results(*apart, loop, how);
  }
  const auto plan = plan_rfactor(schedule, {.loop = loop});
  const auto* parts = std::get_if<RfactorPlan>(&plan);
  return parts && std::ranges::none_of(parts->reduction.buffers, [&](const auto& result) {
           return how == AtOnce::in_block_threads && is_of_one(how, result->scope());
         });
}

bool may_reduce_at_once(const Schedule& schedule, LoopRV loop, AtOnce how,
                        const LoopCarries& carries) {
  return has_partial_results(schedule, loop, how) ||
         (how == AtOnce::in_threads && accumulates_apart(schedule, loop, carries.own)) ||
         updates_atomically(schedule, loop);
}

std::optional<Refusal> refuse_new_conflicts(const Schedule& before, const Schedule& after) {
  std::optional<Refusal> refusal;
  each_loop_at_once(after, &before, [&](LoopRV loop) {
    for (ConflictOf* conflict_of : {sharing_conflict_of, order_conflict_of}) {
      auto conflict = conflict_of(after, loop);
      // What the user took on trust, or was so from the beginning, stays so.
      if (conflict && !had_conflict(before, loop, *conflict_of)) refusal = std::move(conflict);
      if (refusal) return false;
    }
    return true;
  });
  return refusal;
}

std::optional<Refusal> refuse_lost_reductions(const Schedule& described,
                                              const Schedule& implemented) {
  std::optional<Refusal> refusal;
  each_loop_at_once(implemented, &described, [&](LoopRV loop) {
    const AtOnce how = how_of(described.get(loop));
    const LoopCarries carries = carried_by(described, loop, how);
    const bool is_combined =
        carries.is_reduction && may_reduce_at_once(described, loop, how, carries);
    if (is_combined) refusal = order_conflict_of(implemented, loop);
    return !refusal;
  });
  return refusal;
}

}  // namespace loopsmith
