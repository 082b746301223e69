// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/default_schedule.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/rules/inline_elementwise.h"
#include "loopsmith/rules/make_loops.h"
#include "loopsmith/rules/overlap_check.h"
#include "loopsmith/rules/rules.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/schedule/primitives/sample.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {
namespace {

/// Draws nothing: each sample has its decision.
constexpr std::int64_t seed = 1;

/// Whether the rule took the subject; if not, the schedule is as before.
bool takes(const Rule& rule, Schedule& schedule, const Subject& subject,
           const RuleContext& context) {
  const std::size_t before = schedule.steps().size();
  bool is_taken = false;
  try {
    is_taken = rule.take(schedule, subject, context);
  } catch (const ScheduleError&) {
    is_taken = false;
  }
  if (!is_taken && schedule.steps().size() > before)
    schedule.undo(schedule.steps().size() - before);
  return is_taken;
}

/// Asks the rules for each part of the program. Gives the blocks that none took.
std::vector<BlockRV> take_rules(Schedule& schedule, const RuleContext& context) {
  std::vector<BlockRV> left;
  if (schedule.func()->attrs.get_int("tir.is_scheduled", 0) != 0) return left;
  inline_elementwise(schedule);
  for (const Subject& subject : subjects_of(schedule, context.machine)) {
    const bool is_taken = std::ranges::any_of(
        cpu_rules(), [&](const Rule& rule) { return takes(rule, schedule, subject, context); });
    if (!is_taken) left.insert(left.end(), subject.blocks.begin(), subject.blocks.end());
  }
  return left;
}

}  // namespace

Factor RuleContext::number(Schedule& schedule, std::int64_t own,
                           std::vector<std::int64_t> others) const {
  if (!leaves_holes) return own;
  std::vector<std::int64_t>& candidates = others;
  candidates.push_back(own);
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  const auto decision = std::ranges::find(candidates, own) - candidates.begin();
  const std::vector<double> weights(candidates.size(),
                                    1.0 / static_cast<double>(candidates.size()));
  return sample_categorical(schedule, candidates, weights, decision);
}

Schedule default_schedule(const Ptr<PrimFunc>& func, const CpuModel& machine, bool leaves_holes) {
  Schedule schedule(func, seed);
  take_rules(schedule, {machine, leaves_holes});
  return schedule;
}

Ptr<PrimFunc> with_default_schedule(const Ptr<PrimFunc>& func, const CpuModel& machine) {
  Schedule schedule(func, seed);
  const std::vector<BlockRV> left = take_rules(schedule, {machine});
  std::unordered_set<const Object*> blocks;
  for (const BlockRV block : left) blocks.insert(&schedule.get(block));
  const Ptr<PrimFunc> scheduled = make_loops(schedule.func(), blocks, machine);
  if (scheduled.same_as(func)) return func;
  return with_body(func, with_overlap_check(*func, scheduled->body));
}

}  // namespace loopsmith
