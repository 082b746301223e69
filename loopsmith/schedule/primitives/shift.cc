// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/shift.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/loop_shift.h"

namespace loopsmith {

Planned<ShiftPlan> plan_shift(const Schedule& schedule, const ShiftArguments& arguments) {
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  if (auto refusal = refuse_unless_bounds_stay(schedule, arguments.loop)) {
    return *std::move(refusal);
  }
  const For& loop = schedule.get(arguments.loop);
  const DataType type = loop.loop_var->dtype;
  const auto range = range_of(loop);
  const auto fits = [&](std::int64_t value) {
    std::int64_t moved = 0;
    return !__builtin_add_overflow(value, arguments.offset, &moved) && moved <= max_int(type) &&
           moved >= min_int(type);
  };
  if (!fits(range ? range->min : 0) || !fits(range ? range->max : 0)) {
    return Refusal{
        &shifted_values_fit,
        {Argument(arguments.loop), Argument(arguments.offset), Argument(to_string(type))}};
  }
  return ShiftPlan{arguments.loop, arguments.offset};
}

Nothing commit_shift(Schedule& schedule, ShiftPlan&& plan) {
  const DataType type = schedule.get(plan.loop).loop_var->dtype;
  shift_loop(schedule, plan.loop, int_imm(type, plan.offset));
  return {};
}

}  // namespace loopsmith
