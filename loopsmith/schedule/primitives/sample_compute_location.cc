// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/sample_compute_location.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

bool drives(const BlockRealize& realize, const Ptr<Var>& var, IterType type) {
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.block->iter_vars[i]->iter_type == type &&
        uses_variable(realize.iter_values[i], var)) {
      return true;
    }
  }
  return false;
}

/// The loops of the first consumer that are around all of them, with their numbers; up to its last
/// spatial loop, or up to a spatial loop in its reduction.
std::vector<std::pair<std::int64_t, LoopRV>> loops_of_consumers(const Schedule& schedule,
                                                                BlockRV block) {
  const auto consumers = consumers_of(schedule, block);
  if (consumers.empty()) return {};
  NodeId around = schedule.node(consumers[0]);
  for (const BlockRV consumer : consumers) {
    around = common_ancestor(schedule, around, schedule.node(consumer));
  }
  const BlockRealize& first = schedule.realize(consumers[0]);
  const auto loops = loops_around(schedule, schedule.node(consumers[0]));
  std::size_t end = 0;
  bool is_in_reduction = false;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Ptr<Var>& var = schedule.get(loops[i]).loop_var;
    if (drives(first, var, IterType::comm_reduce)) {
      is_in_reduction = true;
    } else if (drives(first, var, IterType::data_par)) {
      if (is_in_reduction) break;
      end = i + 1;
    }
  }
  std::vector<std::pair<std::int64_t, LoopRV>> found;
  for (std::size_t i = 0; i < end; ++i) {
    const bool is_around_all = is_inside(schedule, around, schedule.node(loops[i]));
    if (is_around_all && !is_const_int(schedule.get(loops[i]).extent, 1)) {
      found.emplace_back(static_cast<std::int64_t>(i), loops[i]);
    }
  }
  return found;
}

}  // namespace

Planned<SampleComputeLocationPlan> plan_sample_compute_location(
    const Schedule& schedule, const SampleComputeLocationArguments& arguments) {
  SampleComputeLocationPlan plan;
  plan.decision = arguments.decision;
  if (compute_inline.can_apply(schedule, {.block = arguments.block})) {
    plan.candidates.push_back({-2, {}});
  }
  plan.candidates.push_back({-1, {}});
  for (const auto& [number, loop] : loops_of_consumers(schedule, arguments.block)) {
    const bool is_possible = compute_at.can_apply(
        schedule, {.block = arguments.block, .loop = loop, .preserve_unit_loops = true});
    if (is_possible) plan.candidates.push_back({number, loop});
  }
  return plan;
}

LoopRV commit_sample_compute_location(Schedule& schedule, SampleComputeLocationPlan&& plan) {
  const auto& candidates = plan.candidates;
  std::size_t chosen = 0;
  if (const auto told = schedule.told_decision()) {
    if (const auto* place = told->as<std::int64_t>()) plan.decision = *place;
  }
  if (plan.decision) {
    const auto above = std::ranges::upper_bound(candidates, *plan.decision, {},
                                                &SampleComputeLocationPlan::Candidate::decision);
    const auto root = std::ranges::find(candidates, std::int64_t{-1},
                                        &SampleComputeLocationPlan::Candidate::decision);
    chosen = static_cast<std::size_t>((above == candidates.begin() ? root : above - 1) -
                                      candidates.begin());
  } else {
    chosen = static_cast<std::size_t>(schedule.next_random()) % candidates.size();
  }
  const auto& [decision, loop] = candidates[chosen];
  schedule.record_decision(Argument(decision));
  if (loop) return *loop;
  const auto mark = decision == -2 ? LocationMark::inlined : LocationMark::root;
  return ComputeLocation(mark, schedule.step()).loop;
}

}  // namespace loopsmith
