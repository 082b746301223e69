// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_kinds.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

constexpr std::string_view thread_axes[] = {
    "blockIdx.x",  "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
    "threadIdx.z", "vthread",    "vthread.x",  "vthread.y",   "vthread.z"};

/// The branches inside a node that are updates, `if e > x: x = e`.
std::vector<NodeId> selections_inside(const Schedule& schedule, NodeId root) {
  std::vector<NodeId> found, open = {schedule.at(root).first_child};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (node == no_node) continue;
    open.push_back(schedule.at(node).next);
    open.push_back(schedule.at(node).first_child);
    const auto* branch = schedule.as<IfThenElse>(node);
    if (branch && selected_update(*branch)) found.push_back(node);
  }
  return found;
}

/// The loop is to run so; one that may be left early is refused.
Planned<LoopKindPlan> plan_kind(const Schedule& schedule, LoopKindPlan plan) {
  if (is_left_early(schedule, plan.loop))
    return Refusal{&iterations_reach_their_end, {Argument("break or return"), Argument(plan.loop)}};
  return plan;
}

}  // namespace

bool write_selections(Schedule& schedule, NodeId root) {
  const std::vector<NodeId> found = selections_inside(schedule, root);
  for (const NodeId node : found) {
    schedule.replace(node, selected_update(*schedule.as<IfThenElse>(node)));
  }
  return !found.empty();
}

Planned<LoopKindPlan> plan_parallel(const Schedule& schedule, const ParallelArguments& arguments) {
  LoopKindPlan plan{arguments.loop, ForKind::parallel, arguments.assume_independent};
  if (arguments.condition) plan.condition = arguments.condition->value;
  const Expr& condition = plan.condition;
  if (condition.defined()) {
    if (!condition.dtype().is_bool()) {
      return Refusal{&condition_is_a_truth_value,
                     {Argument(arguments.loop), Argument(Ref(condition)),
                      Argument(to_string(condition.dtype()))}};
    }
    const PrimFunc& func =
        *schedule.as<PrimFunc>(schedule.root(schedule.function_of(schedule.node(arguments.loop))));
    if (const std::string read = read_beside_sizes(func, condition); !read.empty()) {
      return Refusal{&value_is_of_sizes,
                     {Argument("the condition"), Argument(arguments.loop), Argument(Ref(condition)),
                      Argument(read)}};
    }
  }
  return plan_kind(schedule, std::move(plan));
}

Planned<LoopKindPlan> plan_vectorize(const Schedule& schedule, const LoopKindArguments& arguments) {
  return plan_kind(schedule, {arguments.loop, ForKind::vectorized, arguments.assume_independent});
}

Planned<LoopKindPlan> plan_unroll(const Schedule&, const UnrollArguments& arguments) {
  return LoopKindPlan{arguments.loop, ForKind::unrolled};
}

Planned<LoopKindPlan> plan_bind(const Schedule& schedule, const BindArguments& arguments) {
  if (std::ranges::find(thread_axes, arguments.thread_axis) == std::end(thread_axes)) {
    return Refusal{&thread_axis_exists, {Argument(arguments.thread_axis)}};
  }
  const Expr& step = schedule.get(arguments.loop).step;
  if (!is_const_int(step, 1)) {
    return Refusal{&threads_count_by_one, {Argument(arguments.loop), Argument(Ref(step))}};
  }
  return plan_kind(schedule, {arguments.loop, ForKind::thread_binding, arguments.assume_independent,
                              arguments.thread_axis});
}

For planned_loop(const Schedule& schedule, const LoopKindPlan& plan) {
  For loop = schedule.get(plan.loop);
  loop.kind = plan.kind;
  loop.thread_binding = nullptr;
  if (plan.kind == ForKind::thread_binding) {
    loop.thread_binding = make(IterVar{.var = var(plan.thread_axis, loop.loop_var->dtype),
                                       .iter_type = IterType::thread_index,
                                       .thread_tag = plan.thread_axis});
  }
  if (plan.condition.defined()) {
    loop.annotations = loop.annotations.with(std::string(parallel_if_key), plan.condition);
  }
  if (plan.is_atomic) {
    loop.annotations = loop.annotations.with(std::string(atomic_updates_key), Expr(1));
  }
  return loop;
}

Nothing commit_loop_kind(Schedule& schedule, LoopKindPlan&& plan) {
  if (plan.selects) write_selections(schedule, schedule.node(plan.loop));
  DependenceUpdate known(schedule, schedule.node(plan.loop));
  For planned = planned_loop(schedule, plan);
  For& loop = schedule.set_kind(plan.loop, plan.kind, std::move(planned.thread_binding));
  loop.annotations = std::move(planned.annotations);
  loop.span = schedule.span_from(loop.span);
  schedule.known_facts().set_independent_iterations(plan.loop, plan.has_independent_iterations);
  if (plan.kind != ForKind::unrolled) known.forget_lanes();
  known.keep();
  return {};
}

}  // namespace loopsmith
