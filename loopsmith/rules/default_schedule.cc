// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/default_schedule.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "loopsmith/rules/fuse_stencils.h"
#include "loopsmith/rules/inline_elementwise.h"
#include "loopsmith/rules/look_up.h"
#include "loopsmith/rules/make_loops.h"
#include "loopsmith/rules/overlap_check.h"
#include "loopsmith/rules/pad_dot_products.h"
#include "loopsmith/rules/plain_loops/carried_values.h"
#include "loopsmith/rules/rules.h"
#include "loopsmith/rules/split_groups.h"
#include "loopsmith/rules/split_reduction.h"
#include "loopsmith/rules/subject.h"
#include "loopsmith/rules/threads_pay.h"
#include "loopsmith/schedule/legality/regroupings.h"
#include "loopsmith/schedule/primitives/distribute.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/sample.h"
#include "loopsmith/schedule/schedule_error.h"

namespace loopsmith {
namespace {

/// Draws nothing: each sample has its decision.
constexpr std::int64_t seed = 1;

/// What came of asking a rule.
enum class Answer {
  taken,
  left,    ///< No step was taken.
  undone,  ///< Steps were taken back.
};

Answer ask(const Rule& rule, Schedule& schedule, const Subject& subject,
           const RuleContext& context) {
  const std::size_t before = schedule.steps().size();
  try {
    if (rule.take(schedule, subject, context)) return Answer::taken;
  } catch (const ScheduleError&) {  // Its steps are taken back as those of one that says no.
  }
  if (schedule.steps().size() == before) return Answer::left;
  schedule.undo(schedule.steps().size() - before);
  return Answer::undone;
}

/// Handles keep their numbers when steps are taken back.
bool is_same(const Subject& a, const Subject& b) {
  const auto number = [](const auto& handle) { return handle.index; };
  if (a.blocks.empty() && b.blocks.empty()) {
    return a.loop && b.loop && a.loop->index == b.loop->index;
  }
  return std::ranges::equal(a.blocks, b.blocks, {}, number, number);
}

/// Reads the subjects anew: where steps were taken back, those before were taken once more, and
/// blocks that they made have other variables.
void read_again(std::span<Subject> subjects, const Schedule& schedule, const CpuModel& machine) {
  for (const Subject& fresh : subjects_of(schedule, machine)) {
    for (Subject& known : subjects) {
      if (is_same(known, fresh)) {
        known = fresh;
        continue;
      }
      if (known.nests.size() != 1) continue;  // One of a group that was taken apart.
      for (const Nest& nest : fresh.nests) {
        if (nest.block.index == known.blocks[0].index) known.nests[0] = nest;
      }
    }
  }
}

/// The nests of a group, which share no loops then.
std::vector<Subject> apart(const Subject& group) {
  std::vector<Subject> subjects;
  for (const Nest& nest : group.nests) {
    subjects.push_back({.nests = {nest}, .shared = 0, .blocks = {nest.block}, .loop = {}});
  }
  return subjects;
}

/// Gives blocks that share loops, and do not depend on each other, loops of their own.
void distribute_nests(Schedule& schedule) {
  const std::vector<Part> parts = program_of(schedule).parts;
  NodeId last = no_node;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool is_first = parts[i].node != no_node && parts[i].node != last;
    last = parts[i].node;
    if (!is_first || parts[i].node != parts[i + 1].node) continue;
    const std::size_t before = schedule.steps().size();
    const LoopRV outermost = get_loops(schedule, look_up(schedule, parts[i].nest->block))[0];
    if (!distribute.attempt(schedule, outermost)) schedule.undo(schedule.steps().size() - before);
  }
}

/// Asks the rules for each part of the program. Gives the blocks that none took.
std::vector<BlockRV> take_rules(Schedule& schedule, const RuleContext& context) {
  std::vector<BlockRV> left;
  if (schedule.func()->attrs.get_int("tir.is_scheduled", 0) != 0) return left;
  inline_elementwise(schedule, context.machine);
  distribute_nests(schedule);
  fuse_stencils(schedule, context);
  std::vector<Subject> subjects = subjects_of(schedule, context.machine);
  for (const auto prepare : {split_groups, split_long_reductions, pad_dot_products}) {
    if (prepare(schedule, subjects, context.machine)) {
      subjects = subjects_of(schedule, context.machine);
    }
  }
  // A group that no rule takes becomes nests, which are asked about next.
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const RuleContext own = context.with_work_of(subjects[i].nests, *schedule.func());
    const bool is_taken = std::ranges::any_of(cpu_rules(), [&](const Rule& rule) {
      const Answer answer = ask(rule, schedule, subjects[i], own);
      if (answer == Answer::undone) {
        read_again(std::span(subjects).subspan(i), schedule, context.machine);
      }
      return answer == Answer::taken;
    });
    if (is_taken) continue;
    if (subjects[i].nests.size() > 1) {
      const std::vector<Subject> nests = apart(subjects[i]);
      subjects.insert(subjects.begin() + static_cast<std::ptrdiff_t>(i) + 1, nests.begin(),
                      nests.end());
      continue;
    }
    left.insert(left.end(), subjects[i].blocks.begin(), subjects[i].blocks.end());
  }
  return left;
}

}  // namespace

RuleContext RuleContext::with_work_of(const std::vector<Nest>& nests, const PrimFunc& func) const {
  RuleContext own = *this;
  own.threads = threads_pay(nests, func, machine);
  return own;
}

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
  const Ptr<PrimFunc> scheduled = make_loops(recorded_func(schedule), blocks, machine);
  // What is carried from one iteration to the next stays in registers where arguments are apart.
  if (scheduled.same_as(func) && !carries_values(func->body)) return func;
  return with_body(func, with_overlap_check(*func, scheduled->body));
}

}  // namespace loopsmith
