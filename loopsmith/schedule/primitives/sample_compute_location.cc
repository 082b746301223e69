// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/sample_compute_location.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/compute_at.h"
#include "loopsmith/schedule/primitives/compute_inline.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

constexpr std::int64_t inlined = -2, root = -1;  // Decisions that are no loops.

/// The loops of the first consumer that are around all of them, with their numbers: up to a spatial
/// loop in its reduction, else up to its last spatial loop.
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
    if (binds_axis(first, var, IterType::comm_reduce)) {
      is_in_reduction = true;
    } else if (binds_axis(first, var, IterType::data_par)) {
      end = is_in_reduction ? i : i + 1;
      if (is_in_reduction) break;
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

using Candidate = SampleComputeLocationPlan::Candidate;

bool is_possible(const SampleComputeLocationPlan& plan, const Candidate& place) {
  if (place.decision == root) return true;
  if (place.decision == inlined) {
    return compute_inline.can_apply(*plan.before, {.block = plan.block});
  }
  return compute_at.can_apply(
      *plan.before, {.block = plan.block, .loop = *place.loop, .preserve_unit_loops = true});
}

/// The possible place of the largest number up to a decision; where the block is, without one.
Candidate decided(const SampleComputeLocationPlan& plan, std::int64_t decision) {
  for (std::size_t i = plan.candidates.size(); i-- > 0;) {
    const Candidate& place = plan.candidates[i];
    if (place.decision <= decision && is_possible(plan, place)) return place;
  }
  return {root, {}};
}

/// A possible place, each with the same chance: one that is not possible is left out, and another
/// one drawn.
Candidate drawn(Schedule& schedule, const SampleComputeLocationPlan& plan) {
  std::vector<Candidate> left = plan.candidates;
  for (;;) {
    const auto number = static_cast<std::size_t>(schedule.samples().next_random()) % left.size();
    if (is_possible(plan, left[number])) return left[number];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(number));
  }
}

}  // namespace

Planned<SampleComputeLocationPlan> plan_sample_compute_location(
    const Schedule& schedule, const SampleComputeLocationArguments& arguments) {
  SampleComputeLocationPlan plan{.block = arguments.block,
                                 .candidates = {{inlined, {}}, {root, {}}},
                                 .decision = arguments.decision,
                                 .before = std::make_shared<Schedule>(schedule.snapshot())};
  for (const auto& [number, loop] : loops_of_consumers(schedule, arguments.block)) {
    plan.candidates.push_back({number, loop});
  }
  return plan;
}

LoopRV commit_sample_compute_location(Schedule& schedule, SampleComputeLocationPlan&& plan) {
  if (const auto told = schedule.told_decision()) {
    if (const auto* place = told->as<std::int64_t>()) plan.decision = *place;
  }
  const auto& [decision, loop] =
      plan.decision ? decided(plan, *plan.decision) : drawn(schedule, plan);
  schedule.record_decision(Argument(decision));
  if (loop) return *loop;
  const auto mark = decision == inlined ? LocationMark::inlined : LocationMark::root;
  return ComputeLocation(mark, schedule.step()).loop;
}

}  // namespace loopsmith
