// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/merge_siblings.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

std::uint32_t slot_of(const Schedule& schedule, LoopRV loop) {
  return schedule.at(schedule.node(loop)).slot;
}

/// Finds the values that the loops have together, where they differ.
std::optional<Refusal> join_bounds(const Schedule& schedule, MergeSiblingsPlan& plan) {
  Analyzer analyzer;
  const For& first = schedule.get(plan.loops[0]);
  const auto runs_alike = [&](LoopRV loop) {
    const For& other = schedule.get(loop);
    return analyzer.can_prove_equal(first.min, other.min) &&
           analyzer.can_prove_equal(first.extent, other.extent) &&
           analyzer.can_prove_equal(first.step, other.step);
  };
  const auto has_same_type = [&](LoopRV loop) {
    return schedule.get(loop).loop_var->dtype == first.loop_var->dtype;
  };
  // Loops of unlike types are refused by `merge`, which says so.
  if (std::ranges::all_of(plan.loops, runs_alike) ||
      !std::ranges::all_of(plan.loops, has_same_type)) {
    return {};
  }
  Expr low, high;
  for (const LoopRV handle : plan.loops) {
    const For& loop = schedule.get(handle);
    if (!is_const_int(loop.step, 1)) {
      return Refusal{&siblings_have_one_step, {Argument(plan.loops[0]), Argument(handle)}};
    }
    if (reads_memory(loop.min) || reads_memory(loop.extent)) {
      return Refusal{&bounds_read_no_memory, {Argument(handle)}};
    }
    if (const auto block = reduction_started_in(schedule, handle)) {
      return changed_results(extended_loops_start_nothing, {Argument(handle), Argument(*block)});
    }
    const Expr end = loop.min + loop.extent;
    low = low.defined() ? min(low, loop.min) : Expr(loop.min);
    high = high.defined() ? max(high, end) : end;
  }
  plan.min = analyzer.simplify(low);
  plan.extent = analyzer.simplify(high - low);
  return {};
}

}  // namespace

void arrange_siblings(Schedule& schedule, const MergeSiblingsPlan& plan) {
  const std::vector<Stmt> old = schedule.as<SeqStmt>(plan.sequence)->seq;
  std::vector<Stmt> statements;
  for (const std::uint32_t i : plan.order) statements.push_back(old[i]);
  if (!std::ranges::is_sorted(plan.order))
    schedule.replace(plan.sequence, seq(std::move(statements)));
  if (!plan.min.defined()) return;
  Analyzer analyzer;
  for (const LoopRV handle : plan.loops) {
    For& loop = schedule.edit(handle);
    const Expr begin = loop.min, end = analyzer.simplify(loop.min + loop.extent);
    loop.min = plan.min;
    loop.extent = plan.extent;
    const Expr variable = loop.loop_var;
    Expr guard = true;
    if (!analyzer.can_prove_equal(begin, plan.min)) guard = begin <= variable;
    const Expr all = plan.min + plan.extent;
    if (!analyzer.can_prove_equal(end, all)) guard = guard && variable < end;
    if (!is_const_int(guard, 1)) substitute_in_body(schedule, handle, IndexForms(), guard);
  }
}

Planned<MergeSiblingsPlan> plan_merge_siblings(const Schedule& schedule,
                                               const MergeSiblingsArguments& arguments) {
  MergeSiblingsPlan plan{.loops = arguments.loops};
  if (plan.loops.size() < 2) {
    return Refusal{&loops_are_given,
                   {Argument(static_cast<std::int64_t>(plan.loops.size())), Argument(2)}};
  }
  plan.sequence = schedule.at(schedule.node(plan.loops[0])).parent;
  for (const LoopRV loop : plan.loops) {
    if (!schedule.as<SeqStmt>(plan.sequence) ||
        schedule.at(schedule.node(loop)).parent != plan.sequence) {
      return Refusal{&nests_follow_each_other, {Argument(loop), Argument(plan.loops[0])}};
    }
    if (auto refusal = refuse_unless_plain(schedule, loop)) return *std::move(refusal);
  }
  std::ranges::sort(plan.loops, {}, [&](LoopRV loop) { return slot_of(schedule, loop); });
  const auto twice = std::ranges::adjacent_find(plan.loops, {}, &LoopRV::index);
  if (twice != plan.loops.end()) {
    return Refusal{&nests_follow_each_other, {Argument(*twice), Argument(*twice)}};
  }
  if (auto refusal = join_bounds(schedule, plan)) return *std::move(refusal);
  return plan;
}

LoopRV commit_merge_siblings(Schedule& schedule, MergeSiblingsPlan&& plan) {
  arrange_siblings(schedule, plan);
  MergePlan merging{.sequence = schedule.at(schedule.node(plan.loops[0])).parent,
                    .first_slot = plan.first_slot,
                    .nests = {}};
  for (const LoopRV loop : plan.loops) merging.nests.push_back({loop});
  return commit_merge(schedule, std::move(merging));
}

}  // namespace loopsmith
