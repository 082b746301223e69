// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_kinds.h"

#include <algorithm>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/atomic_updates.h"
#include "loopsmith/schedule/legality/concurrent_loops.h"
#include "loopsmith/schedule/legality/dependence_cache.h"
#include "loopsmith/schedule/legality/partial_results.h"
#include "loopsmith/schedule/legality/reassociation.h"
#include "loopsmith/schedule/legality/shared_tiles.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

constexpr std::string_view thread_axes[] = {
    "blockIdx.x",  "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
    "threadIdx.z", "vthread",    "vthread.x",  "vthread.y",   "vthread.z"};

bool is_bound_to(const For* loop, std::string_view axis) {
  return loop && loop->kind == ForKind::thread_binding && loop->thread_binding->thread_tag == axis;
}

/// Refuses a thread axis that a loop around or inside the loop has, unless the threads share out
/// what the inner of the two does.
std::optional<Refusal> refuse_taken_axis(const Schedule& schedule, LoopRV loop,
                                         const std::string& axis) {
  const auto refusal = [&](LoopRV other) {
    return Refusal{&thread_axis_is_free, {Argument(other), Argument(axis), Argument(loop)}};
  };
  const bool are_threads = is_thread_axis(thread_axis_of(axis));
  const NodeId node = schedule.node(loop);
  for (NodeId around = schedule.at(node).parent; around != no_node;
       around = schedule.at(around).parent) {
    if (!is_bound_to(schedule.as<For>(around), axis)) continue;
    const LoopRV outer = schedule.loop_at(around);
    if (!are_threads || !may_share_out(schedule, outer, loop)) return refusal(outer);
  }
  std::vector<NodeId> open = {schedule.at(node).first_child};
  while (!open.empty()) {
    const NodeId inside = open.back();
    open.pop_back();
    if (inside == no_node) continue;
    open.push_back(schedule.at(inside).next);
    open.push_back(schedule.at(inside).first_child);
    if (!is_bound_to(schedule.as<For>(inside), axis)) continue;
    const LoopRV inner = schedule.loop_at(inside);
    if (!are_threads || !may_share_out(schedule, loop, inner)) return refusal(inner);
  }
  return {};
}

bool is_in_lanes(const Schedule& schedule, LoopRV loop) {
  for (NodeId node = schedule.at(schedule.node(loop)).parent; node != no_node;
       node = schedule.at(node).parent) {
    const auto* around = schedule.as<For>(node);
    if (around && around->kind == ForKind::vectorized) return true;
  }
  return false;
}

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

void write_selections(Schedule& schedule, NodeId root) {
  for (const NodeId node : selections_inside(schedule, root)) {
    schedule.replace(node, selected_update(*schedule.as<IfThenElse>(node)));
  }
}

Planned<LoopKindPlan> plan_as_written(const Schedule& schedule, LoopKindPlan plan, Concurrency how,
                                      bool assume_independent) {
  if (is_left_early(schedule, plan.loop)) return Refusal{&loop_is_not_left, {Argument(plan.loop)}};
  // Lanes around it were in step with its iterations.
  if (is_in_lanes(schedule, plan.loop)) {
    Schedule after = schedule.snapshot();
    commit_loop_kind(after, LoopKindPlan(plan));
    if (auto conflict = refuse_new_conflicts(schedule, after)) return *std::move(conflict);
  }
  CarriedDependences carries = carried_by(schedule, plan.loop, how);
  plan.has_independent_iterations = carries.verdict.is_proved();
  if (carries.verdict.is_proved()) return plan;
  if (carries.is_reduction) {
    if (!may_reduce_concurrently(schedule, plan.loop, how, carries)) {
      if (auto refusal = refuse_reads_of_results(schedule, plan.loop)) return *std::move(refusal);
      const bool is_axis = drives_reduction(schedule, plan.loop);
      return changed_results(is_axis ? loop_is_reduction : updates_meet, {Argument(plan.loop)},
                             std::move(carries.verdict.witness));
    }
    plan.reordered_reduction = rounding_reduction_inside(schedule, schedule.node(plan.loop));
    return plan;
  }
  if (carries.verdict.kind == OrderAnswer::Kind::violated) {
    return changed_results(iterations_depend, {Argument(plan.loop)},
                           std::move(carries.verdict.witness));
  }
  if (assume_independent) return plan;
  return changed_results(dependence_is_unknown,
                         {Argument(plan.loop), Argument(carries.verdict.why)});
}

/// The same, with branches as the updates that they are where that helps.
Planned<LoopKindPlan> plan_concurrent(const Schedule& schedule, const LoopKindPlan& plan,
                                      Concurrency how, bool assume_independent) {
  auto planned = plan_as_written(schedule, plan, how, assume_independent);
  const NodeId node = schedule.node(plan.loop);
  const bool is_refused = std::holds_alternative<Refusal>(planned);
  if (!is_refused || selections_inside(schedule, node).empty()) return planned;
  Schedule selecting = schedule.snapshot();
  write_selections(selecting, selecting.node(plan.loop));
  auto again = plan_as_written(selecting, plan, how, false);
  auto* found = std::get_if<LoopKindPlan>(&again);
  if (!found) return planned;
  found->selects = true;
  return again;
}

}  // namespace

Planned<LoopKindPlan> plan_parallel(const Schedule& schedule, const ParallelArguments& arguments) {
  LoopKindPlan plan{arguments.loop, ForKind::parallel};
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
      return Refusal{&condition_is_of_sizes,
                     {Argument(arguments.loop), Argument(Ref(condition)), Argument(read)}};
    }
  }
  return plan_concurrent(schedule, plan, Concurrency::in_threads, arguments.assume_independent);
}

Planned<LoopKindPlan> plan_vectorize(const Schedule& schedule, const LoopKindArguments& arguments) {
  return plan_concurrent(schedule, {arguments.loop, ForKind::vectorized}, Concurrency::in_lanes,
                         arguments.assume_independent);
}

Planned<LoopKindPlan> plan_unroll(const Schedule&, const UnrollArguments& arguments) {
  return LoopKindPlan{arguments.loop, ForKind::unrolled};
}

Planned<LoopKindPlan> plan_bind(const Schedule& schedule, const BindArguments& arguments) {
  if (std::ranges::find(thread_axes, arguments.thread_axis) == std::end(thread_axes)) {
    return Refusal{&thread_axis_exists, {Argument(arguments.thread_axis)}};
  }
  const std::string& axis = arguments.thread_axis;
  const Expr& step = schedule.get(arguments.loop).step;
  if (!is_const_int(step, 1)) {
    return Refusal{&threads_count_by_one, {Argument(arguments.loop), Argument(Ref(step))}};
  }
  if (auto refusal = refuse_taken_axis(schedule, arguments.loop, axis)) return *std::move(refusal);
  return plan_concurrent(schedule, {arguments.loop, ForKind::thread_binding, axis},
                         concurrency_of_axis(thread_axis_of(axis)), arguments.assume_independent);
}

Nothing commit_loop_kind(Schedule& schedule, LoopKindPlan&& plan) {
  Ptr<IterVar> binding;
  if (plan.kind == ForKind::thread_binding) {
    const DataType type = schedule.get(plan.loop).loop_var->dtype;
    binding = make(IterVar{.var = var(plan.thread_axis, type),
                           .iter_type = IterType::thread_index,
                           .thread_tag = plan.thread_axis});
  }
  if (plan.selects) write_selections(schedule, schedule.node(plan.loop));
  DependenceUpdate known(schedule, schedule.node(plan.loop));
  For& loop = schedule.set_kind(plan.loop, plan.kind, std::move(binding));
  loop.span = schedule.span_from(loop.span);
  if (plan.condition.defined()) {
    loop.annotations = loop.annotations.with(std::string(parallel_if_key), plan.condition);
  }
  schedule.known_facts().set_independent_iterations(plan.loop, plan.has_independent_iterations);
  if (plan.kind != ForKind::unrolled) known.forget_lanes();
  known.keep();
  return {};
}

}  // namespace loopsmith
