// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_kinds.h"

#include <algorithm>

#include "loopsmith/schedule/primitives/rfactor.h"

namespace loopsmith {
namespace {

constexpr std::string_view thread_axes[] = {
    "blockIdx.x",  "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
    "threadIdx.z", "vthread",    "vthread.x",  "vthread.y",   "vthread.z"};

}  // namespace

Planned<LoopKindPlan> plan_parallel(const Schedule& schedule, const LoopKindArguments& arguments) {
  if (auto refusal = refuse_unless_independent(schedule, arguments.loop, AtOnce::in_threads,
                                               arguments.assume_independent)) {
    // Lowering gives a reduction partial results, as rfactor does.
    const bool has_parts = refusal->condition == &loop_is_no_reduction &&
                           rfactor.can_apply(schedule, {.loop = arguments.loop, .factor_axis = 0});
    if (!has_parts) return *std::move(refusal);
  }
  return LoopKindPlan{arguments.loop, ForKind::parallel};
}

Planned<LoopKindPlan> plan_vectorize(const Schedule& schedule, const LoopKindArguments& arguments) {
  // A reduction in lanes: one partial result a lane, added up at the end.
  if (auto refusal = refuse_unless_independent(schedule, arguments.loop, AtOnce::in_lanes,
                                               arguments.assume_independent)) {
    return *std::move(refusal);
  }
  return LoopKindPlan{arguments.loop, ForKind::vectorized};
}

Planned<LoopKindPlan> plan_unroll(const Schedule&, const UnrollArguments& arguments) {
  return LoopKindPlan{arguments.loop, ForKind::unrolled};
}

Planned<LoopKindPlan> plan_bind(const Schedule& schedule, const BindArguments& arguments) {
  if (std::ranges::find(thread_axes, arguments.thread_axis) == std::end(thread_axes)) {
    return Refusal{&thread_axis_exists, {Argument(arguments.thread_axis)}};
  }
  if (auto refusal = refuse_unless_independent(schedule, arguments.loop, AtOnce::in_threads,
                                               arguments.assume_independent)) {
    return *std::move(refusal);
  }
  return LoopKindPlan{arguments.loop, ForKind::thread_binding, arguments.thread_axis};
}

Nothing commit_loop_kind(Schedule& schedule, LoopKindPlan&& plan) {
  For& loop = schedule.edit(plan.loop);
  loop.kind = plan.kind;
  loop.span = schedule.span_from(loop.span);
  loop.thread_binding = nullptr;
  if (plan.kind == ForKind::thread_binding) {
    loop.thread_binding = make(IterVar{.var = var(plan.thread_axis, loop.loop_var->dtype),
                                       .iter_type = IterType::thread_index,
                                       .thread_tag = plan.thread_axis});
  }
  return {};
}

}  // namespace loopsmith
