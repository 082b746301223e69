// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct ShiftArguments {
  LoopRV loop;
  std::int64_t offset = 0;

  static constexpr std::tuple parameters{
      Parameter{"loop", &ShiftArguments::loop},
      Parameter{"offset", &ShiftArguments::offset,
                "What is added to the values of the loop; may be negative."}};
};

struct ShiftPlan {
  LoopRV loop;
  std::int64_t offset = 0;
};

inline constexpr Condition shifted_values_fit{
    "number_is_in_range", "loop {} shifted by {} leaves the range of its type, {}",
    "shift it by less"};
inline constexpr const Condition* shift_conditions[] = {&loop_is_plain, &step_keeps_results,
                                                        &shifted_values_fit};

Planned<ShiftPlan> plan_shift(const Schedule& schedule, const ShiftArguments& arguments);

/// for i in n:        for i in 2..n + 2:
///   body(i)     =>     body(i - 2)
///
/// The loop keeps its name, and the order of its iterations.
Nothing commit_shift(Schedule& schedule, ShiftPlan&& plan);

inline constexpr Primitive shift(PrimitiveDefinition{
    .name = "shift",
    .past = "shifted",
    .doc = "Lets a loop start elsewhere: what it did for `i`, it does for `i + offset`. Loops that "
           "are merged afterwards by `merge_siblings` then run so many iterations apart.",
    .conditions = shift_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_shift,
    .commit = commit_shift,
});

}  // namespace loopsmith
