// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/branches.h"

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/equal_loops.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

bool bounds_read_memory(const For& loop) {
  return reads_memory(loop.min) || reads_memory(loop.extent) || reads_memory(loop.step);
}

bool has_elements(const For& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  return extent && *extent > 0;
}

}  // namespace

Planned<BranchPlan> plan_sink_if(const Schedule& schedule, const SinkIfArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const For& loop = schedule.get(arguments.loop);
  const NodeId node = schedule.node(arguments.loop);
  const NodeId parent = schedule.at(node).parent;
  const auto* branch = schedule.as<IfThenElse>(parent);
  if (!branch) return Refusal{&loop_is_alone_in_a_branch, {handle}};
  const bool is_first = schedule.at(node).slot == 0;
  const Stmt& other = is_first ? branch->else_case : branch->then_case;
  if (other.defined() && !equal_loop(other, loop)) {
    return Refusal{&branches_have_equal_loops, {handle}};
  }
  if (!other.defined() && bounds_read_memory(loop)) {
    return Refusal{&bounds_read_no_memory, {handle}};
  }
  if (!is_pure(branch->condition) || may_change(branch->condition, schedule.statement(parent))) {
    return changed_results(condition_stays, {Argument(Ref(branch->condition)), handle});
  }
  return BranchPlan{arguments.loop, parent};
}

Nothing commit_sink_if(Schedule& schedule, BranchPlan&& plan) {
  IfThenElse branch = *schedule.as<IfThenElse>(plan.branch);
  For loop = schedule.get(plan.loop);
  const SpanScope span(schedule.span_from(loop.span));
  Schedule::Renewed renewed;
  for (Stmt* part : {&branch.then_case, &branch.else_case}) {
    if (!part->defined()) continue;
    const For& inside = *part->as<For>();
    Stmt body = substitute(inside.body, {{inside.loop_var, loop.loop_var}});
    add_renewed_blocks(inside.body, body, renewed);
    *part = std::move(body);
  }
  loop.body = make(std::move(branch));
  schedule.replace(plan.branch, make(std::move(loop)), renewed);
  return {};
}

Planned<BranchPlan> plan_hoist_if(const Schedule& schedule, const HoistIfArguments& arguments) {
  const Argument handle(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const For& loop = schedule.get(arguments.loop);
  const auto* branch = loop.body.as<IfThenElse>();
  if (!branch) return Refusal{&body_is_an_if, {handle}};
  const Argument condition{Ref(branch->condition)};
  if (uses_variable(branch->condition, loop.loop_var)) {
    return Refusal{&condition_is_outside, {condition, handle}};
  }
  if (!is_pure(branch->condition) || may_change(branch->condition, loop.body)) {
    return changed_results(condition_stays, {condition, handle});
  }
  if (reads_memory(branch->condition) && !has_elements(loop)) {
    return changed_results(condition_has_a_value, {condition, handle});
  }
  return BranchPlan{arguments.loop, schedule.at(schedule.node(arguments.loop)).first_child};
}

Handles<LoopRV> commit_hoist_if(Schedule& schedule, BranchPlan&& plan) {
  const For loop = schedule.get(plan.loop);
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(loop.span));
  IfThenElse branch = *loop.body.as<IfThenElse>();
  Schedule::Renewed renewed;
  std::vector<Ptr<Var>> variables{loop.loop_var};
  if (branch.else_case.defined()) {
    For other = loop;
    other.loop_var =
        var(schedule.fresh_loop_name(function, loop.loop_var->name + "_1"), loop.loop_var->dtype);
    other.body = substitute(branch.else_case, {{loop.loop_var, other.loop_var}});
    add_renewed_blocks(branch.else_case, other.body, renewed);
    variables.push_back(other.loop_var);
    branch.else_case = make(std::move(other));
  }
  For first = loop;
  first.body = branch.then_case;
  branch.then_case = make(std::move(first));
  schedule.replace(node, make(std::move(branch)), renewed);
  return loops_of_vars(schedule, function, variables);
}

}  // namespace loopsmith
