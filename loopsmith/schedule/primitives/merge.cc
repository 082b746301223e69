// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/merge.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/empty_reductions.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

/// The loops from below `above` to `loop`, where nothing else is between them; else none.
std::vector<LoopRV> nest_of(const Schedule& schedule, LoopRV loop, NodeId above) {
  std::vector<LoopRV> nest;
  for (NodeId node = schedule.node(loop); node != above; node = schedule.at(node).parent) {
    if (!schedule.as<For>(node)) return {};
    nest.push_back(schedule.loop_at(node));
  }
  std::ranges::reverse(nest);
  return nest;
}

bool are_alike(const Schedule& schedule, const std::vector<LoopRV>& a,
               const std::vector<LoopRV>& b) {
  Analyzer analyzer;
  return std::ranges::equal(a, b, [&](LoopRV x, LoopRV y) {
    const For& left = schedule.get(x);
    const For& right = schedule.get(y);
    return left.kind == right.kind && left.loop_var->dtype == right.loop_var->dtype &&
           analyzer.can_prove_equal(left.extent, right.extent);
  });
}

}  // namespace

Planned<MergePlan> plan_merge(const Schedule& schedule, const MergeArguments& arguments) {
  const auto& loops = arguments.loops;
  if (loops.size() < 2) {
    return Refusal{&loops_are_given,
                   {Argument(static_cast<std::int64_t>(loops.size())), Argument(2)}};
  }
  MergePlan plan{.named = loops, .assume_independent = arguments.assume_independent};
  plan.sequence = common_ancestor(schedule, schedule.node(loops[0]), schedule.node(loops[1]));
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const LoopRV before = loops[i == 0 ? 0 : i - 1];
    const Refusal apart{&nests_follow_each_other, {Argument(loops[i]), Argument(before)}};
    if (!schedule.as<SeqStmt>(plan.sequence)) return apart;
    if (!is_inside(schedule, schedule.node(loops[i]), plan.sequence)) return apart;
    plan.nests.push_back(nest_of(schedule, loops[i], plan.sequence));
    if (plan.nests.back().empty()) return apart;
    const std::uint32_t slot = schedule.at(schedule.node(plan.nests.back()[0])).slot;
    if (i == 0) plan.first_slot = slot;
    if (slot != plan.first_slot + i) return apart;
    for (const LoopRV loop : plan.nests.back()) {
      if (auto refusal = refuse_unless_plain(schedule, loop)) return *std::move(refusal);
      if (is_left_by_break(schedule, loop)) {
        return Refusal{&iterations_reach_their_end, {Argument("break"), Argument(loop)}};
      }
      if (has_continue(schedule, loop)) {
        return Refusal{&iterations_reach_their_end, {Argument("continue"), Argument(loop)}};
      }
    }
    if (!are_alike(schedule, plan.nests[0], plan.nests[i])) {
      return Refusal{&nests_are_alike, {Argument(loops[0]), Argument(loops[i])}};
    }
  }
  for (const auto& nest : plan.nests) {
    for (const LoopRV loop : nest) {
      for (const auto& other : plan.nests) {
        if (auto refusal = refuse_unless_bounds_stay(schedule, loop, other[0])) {
          return *std::move(refusal);
        }
      }
    }
  }
  for (std::size_t i = 1; i < plan.nests.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const NodeId before = schedule.node(plan.nests[k][0]);
      if (auto refusal = refuse_inits_before(schedule, before, plan.nests[i])) {
        return *std::move(refusal);
      }
    }
  }
  return plan;
}

LoopRV commit_merge(Schedule& schedule, MergePlan&& plan) {
  const std::vector<LoopRV>& first = plan.nests[0];
  const std::uint32_t function = schedule.function_of(plan.sequence);
  std::vector<Ptr<Var>> variables;
  std::vector<Expr> extents;
  ForKind kind = ForKind::serial;
  for (const LoopRV loop : first) {
    const For& old = schedule.get(loop);
    variables.push_back(
        var(schedule.fresh_loop_name(function, old.loop_var->name + "_m"), old.loop_var->dtype));
    extents.push_back(old.extent);
    kind = old.kind;
  }
  std::vector<Stmt> bodies;
  for (const auto& nest : plan.nests) {
    IndexForms forms(ranges_around(schedule, plan.sequence));
    for (std::size_t i = 0; i < nest.size(); ++i) {
      const For& loop = schedule.get(nest[i]);
      if (auto range = range_of(loop)) {
        const std::int64_t count = *as_int(loop.extent);
        forms.add_range({variables[i].get(), 0, count - 1});
      }
      const Expr offset = variables[i] * loop.step;
      forms.bind(loop.loop_var, is_const_int(loop.min, 0) ? offset : loop.min + offset);
    }
    substitute_in_body(schedule, nest.back(), forms);
    bodies.push_back(schedule.get(nest.back()).body);
  }
  Stmt merged = seq(std::move(bodies));
  for (std::size_t i = first.size(); i-- > 0;) {
    merged = for_loop(variables[i], 0, extents[i], merged, kind);
  }
  std::vector<Stmt> parts = schedule.as<SeqStmt>(plan.sequence)->seq;
  const auto place = parts.begin() + plan.first_slot;
  *place = merged;
  parts.erase(place + 1, place + static_cast<std::ptrdiff_t>(plan.nests.size()));
  NodeId node = schedule.replace(plan.sequence, seq(std::move(parts)));
  if (schedule.as<SeqStmt>(node)) {
    NodeId child = schedule.at(node).first_child;
    while (schedule.at(child).slot != plan.first_slot) child = schedule.at(child).next;
    node = child;
  }
  for (std::size_t i = 1; i < first.size(); ++i) node = schedule.at(node).first_child;
  return schedule.loop_at(node);
}

}  // namespace loopsmith
