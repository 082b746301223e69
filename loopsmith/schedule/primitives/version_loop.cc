// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/version_loop.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"
#include "loopsmith/schedule/rewrites/loop_parts.h"

namespace loopsmith {

Planned<VersionLoopPlan> plan_version_loop(const Schedule& schedule,
                                           const VersionLoopArguments& arguments) {
  const auto& [loops, least] = arguments;
  if (loops.empty() || loops.size() != least.size()) {
    const auto count = [](std::size_t size) { return Argument(static_cast<std::int64_t>(size)); };
    return Refusal{&loops_have_least_numbers, {count(loops.size()), count(least.size())}};
  }
  const NodeId outermost = schedule.node(loops[0]), around = schedule.at(outermost).parent;
  VersionLoopPlan plan{loops[0], true};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (auto refusal = refuse_unless_plain(schedule, loops[i])) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loops[i])) return *std::move(refusal);
    const NodeId node = schedule.node(loops[i]);
    if (i > 0 && !is_inside(schedule, node, outermost)) {
      return Refusal{&inner_is_inside_outer, {Argument(loops[i]), Argument(loops[0])}};
    }
    const Expr& extent = schedule.get(loops[i]).extent;
    if (!is_known_at(schedule, around, node, extent)) {
      return Refusal{&extent_is_known_before, {Argument(loops[i]), Argument(loops[0])}};
    }
    plan.condition = plan.condition && extent >= int_imm(extent.dtype(), least[i]);
  }
  return plan;
}

Handles<LoopRV> commit_version_loop(Schedule& schedule, VersionLoopPlan&& plan) {
  const For loop = schedule.get(plan.loop);
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const SpanScope span(schedule.span_from(loop.span));
  const auto buffers = buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function)));
  For other = loop;
  other.loop_var =
      var(schedule.fresh_loop_name(function, loop.loop_var->name + "_1"), loop.loop_var->dtype);
  other.body = clone_with(body_of_part(schedule, function, loop.body, {}, "_1", buffers),
                          {{loop.loop_var, other.loop_var}});
  const Ptr<Var> variables[] = {loop.loop_var, other.loop_var};
  schedule.replace(node, make(IfThenElse{.condition = std::move(plan.condition),
                                         .then_case = make(For(loop)),
                                         .else_case = make(std::move(other))}));
  Handles<LoopRV> made;
  for (const Ptr<Var>& variable : variables)
    made.push_back(loop_of_var(schedule, function, variable));
  return made;
}

}  // namespace loopsmith
