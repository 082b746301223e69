// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/nest_normalization.h"

namespace loopsmith {

struct NormalizeNestArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &NormalizeNestArguments::loop, "The outermost loop of the nest."}};
};

struct NormalizeNestPlan {
  LoopRV loop;
};

inline constexpr const Condition* normalize_nest_conditions[] = {
    &loop_is_plain, &step_keeps_results, &iterations_reach_their_end};

Planned<NormalizeNestPlan> plan_normalize_nest(const Schedule& schedule,
                                               const NormalizeNestArguments& arguments);

/// for i in 1..n:               for i in n - 1:
///   if c(i):                     for j in m:
///     for j in m: a(i, j)   =>     block A where c(i + 1):      a(vi + 1, vj)
///   else:                          block B where not c(i + 1):  b(vi + 1, vj)
///     for k in m: b(i, k)
///
/// Loops count from 0 by 1, conditions become those of blocks, statements get blocks whose axes are
/// the loops around. An `if` stays where its condition, or bounds inside, read memory. Gives the
/// blocks that are new.
Handles<BlockRV> commit_normalize_nest(Schedule& schedule, NormalizeNestPlan&& plan);

inline constexpr Primitive normalize_nest(PrimitiveDefinition{
    .name = "normalize_nest",
    .past = "normalized",
    .doc = "Brings a nest with conditions, other starts than 0 and statements outside of blocks "
           "into the form that all primitives take: perfect loops around blocks with predicates.",
    .conditions = normalize_nest_conditions,
    .plan = plan_normalize_nest,
    .commit = commit_normalize_nest,
});

}  // namespace loopsmith
