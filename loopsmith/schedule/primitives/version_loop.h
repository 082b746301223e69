// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitives/skew.h"

namespace loopsmith {

struct VersionLoopArguments {
  std::vector<LoopRV> loops;
  std::vector<std::int64_t> least;
  bool uneven = false;

  static constexpr std::tuple parameters{
      Parameter{"loops", &VersionLoopArguments::loops,
                "The one that gets two versions first, then loops inside of it."},
      Parameter{"least", &VersionLoopArguments::least,
                "How many iterations each of them has at least in the first version."},
      Parameter{"uneven", &VersionLoopArguments::uneven,
                "The first version is for rows of very different lengths alone: some eighth of the "
                "first loop has a quarter more to do than others."}};
};

struct VersionLoopPlan {
  LoopRV loop;
  Expr condition;
};

inline constexpr Condition loops_have_least_numbers{
    "arguments_fit", "{} loops and {} numbers of iterations are given",
    "give one number for each loop, and one loop or more"};
inline constexpr Condition rows_follow_each_other{
    "rows_follow_each_other",
    "how much work comes before an iteration of loop {} is not known without a count of all",
    "pass uneven=False; a loop inside is to run from S[i] to S[i + 1]"};
inline constexpr const Condition* version_loop_conditions[] = {
    &loops_have_least_numbers, &loop_is_plain,    &step_keeps_results,
    &loop_is_around_loop,      &bounds_are_known, &rows_follow_each_other};

Planned<VersionLoopPlan> plan_version_loop(const Schedule& schedule,
                                           const VersionLoopArguments& arguments);

/// for i in n:           if n >= 1000:
///   body(i)               for i in n:  body(i)
///                  =>   else:
///                         for i_1 in n:  body(i_1)
///
/// With `uneven`, of rows that start where the ones before end, at S[i], the condition asks how far
/// S[n / 8 * (p + 1)] - S[n / 8 * p] is above an eighth of S[n] - S[0].
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
