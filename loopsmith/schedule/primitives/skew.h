// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct SkewArguments {
  LoopRV outer;
  LoopRV inner;
  std::int64_t factor = 1;

  static constexpr std::tuple parameters{
      Parameter{"outer", &SkewArguments::outer},
      Parameter{"inner", &SkewArguments::inner, "A loop inside `outer`."},
      Parameter{"factor", &SkewArguments::factor,
                "By how much `inner` starts later for each value of `outer`; may be negative."}};
};

struct SkewPlan {
  LoopRV outer;
  LoopRV inner;
  std::int64_t factor = 1;
};

inline constexpr const Condition* skew_conditions[] = {&loop_is_plain, &step_keeps_results,
                                                       &loop_is_around_loop};

Planned<SkewPlan> plan_skew(const Schedule& schedule, const SkewArguments& arguments);

/// for i in n:               for i in n:
///   for j in m:       =>      for j in i..i + m:
///     body(i, j)                body(i, j - i)
///
/// Both loops keep their names, and iterations their order. What depends on the iteration before of
/// either loop then depends on earlier iterations of `inner` alone, which `reorder` may bring out.
Nothing commit_skew(Schedule& schedule, SkewPlan&& plan);

inline constexpr Primitive skew(PrimitiveDefinition{
    .name = "skew",
    .past = "skewed",
    .doc = "Lets a loop run over its values plus a multiple of a loop around it. After `reorder`, "
           "the iterations of a wavefront are together, and `parallel` may run them concurrently.",
    .conditions = skew_conditions,
    .required = 2,
    .keeps_accesses = true,
    .plan = plan_skew,
    .commit = commit_skew,
});

}  // namespace loopsmith
