// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/skew.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/loop_shift.h"

namespace loopsmith {

Planned<SkewPlan> plan_skew(const Schedule& schedule, const SkewArguments& arguments) {
  const auto& [outer, inner, factor] = arguments;
  for (const LoopRV loop : {outer, inner}) {
    if (auto refusal = refuse_unless_plain(schedule, loop)) return *std::move(refusal);
    if (auto refusal = refuse_unless_bounds_stay(schedule, loop)) return *std::move(refusal);
  }
  const NodeId around = schedule.node(outer), inside = schedule.node(inner);
  const bool is_nested = outer.index != inner.index && is_inside(schedule, inside, around) &&
                         scope_of(schedule, inside) == scope_of(schedule, around);
  if (!is_nested) return Refusal{&loop_is_around_loop, {Argument(outer), Argument(inner)}};
  return SkewPlan{outer, inner, factor};
}

Nothing commit_skew(Schedule& schedule, SkewPlan&& plan) {
  const Ptr<Var> outer = schedule.get(plan.outer).loop_var;
  const DataType type = schedule.get(plan.inner).loop_var->dtype;
  shift_loop(schedule, plan.inner, cast(type, outer) * int_imm(type, plan.factor));
  return {};
}

}  // namespace loopsmith
