// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitives/skew.h"

namespace loopsmith {

struct VersionLoopArguments {
  std::vector<LoopRV> loops;
  std::vector<std::int64_t> least;

  static constexpr std::tuple parameters{
      Parameter{"loops", &VersionLoopArguments::loops,
                "The one that gets two versions first, then loops inside of it."},
      Parameter{"least", &VersionLoopArguments::least,
                "How many iterations each of them has at least in the first version."}};
};

struct VersionLoopPlan {
  LoopRV loop;
  Expr condition;
};

inline constexpr Condition loops_have_least_numbers{
    "loops_have_least_numbers", "{} loops and {} numbers of iterations are given",
    "give one number for each loop, and one loop or more"};
inline constexpr Condition extent_is_known_before{
    "extent_is_known_before", "how often loop {} runs is not known before loop {} starts",
    "choose loops whose extents are sizes"};
inline constexpr const Condition* version_loop_conditions[] = {
    &loops_have_least_numbers, &loop_is_plain, &bounds_stay, &inner_is_inside_outer,
    &extent_is_known_before};

Planned<VersionLoopPlan> plan_version_loop(const Schedule& schedule,
                                           const VersionLoopArguments& arguments);

/// for i in n:           if n >= 1000:
///   body(i)               for i in n:  body(i)
///                  =>   else:
///                         for i_1 in n:  body(i_1)
///
/// Gives the loops of both versions, of which the first keeps its name.
Handles<LoopRV> commit_version_loop(Schedule& schedule, VersionLoopPlan&& plan);

inline constexpr Primitive version_loop(PrimitiveDefinition{
    .name = "version_loop",
    .doc = "Makes two versions of a loop: one for where it, and loops inside of it, have so many "
           "iterations or more, one for where they do not. Each has a schedule of its own then.",
    .conditions = version_loop_conditions,
    .required = 2,
    .plan = plan_version_loop,
    .commit = commit_version_loop,
});

}  // namespace loopsmith
