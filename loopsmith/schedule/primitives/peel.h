// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct PeelArguments {
  LoopRV loop;
  std::int64_t first = 1;
  std::int64_t last = 0;

  static constexpr std::tuple parameters{
      Parameter{"loop", &PeelArguments::loop},
      Parameter{"first", &PeelArguments::first, "How many iterations come before the loop."},
      Parameter{"last", &PeelArguments::last, "How many come after it."}};
};

/// Iterations of the loop that become a loop.
struct PeeledPart {
  Expr before;  ///< How many iterations come first.
  Expr extent;
  std::string suffix;  ///< Of its name and those of its blocks; empty: the loop itself.
  std::vector<const Block*> going_on = {};  ///< Reductions that an earlier part has started.
};

struct PeelPlan {
  LoopRV loop;
  std::vector<PeeledPart> parts;
};

inline constexpr Condition peeled_numbers_are_positive{"peeled_numbers_are_positive",
                                                       "{} iterations of loop {} are to come {} it",
                                                       "pass 0 or more, and not 0 for both"};
inline constexpr Condition peeled_iterations_fit{
    "peeled_iterations_fit", "{} iterations are to be peeled of loop {}, which has {}",
    "peel at most as many as there are"};
inline constexpr Condition reduction_starts_in_the_loop{
    "reduction_starts_in_the_loop",
    "block {} starts its reduction in one of the iterations of loop {}, whose bounds are no "
    "constants",
    "use decompose_reduction first"};
inline constexpr const Condition* peel_conditions[] = {
    &loop_is_plain,          &bounds_stay,          &peeled_numbers_are_positive,
    &peeled_iterations_fit,  &loop_runs_to_its_end, &reduction_starts_in_the_loop,
    &empty_reductions_start, &step_keeps_results};

Planned<PeelPlan> plan_peel(const Schedule& schedule, const PeelArguments& arguments);

/// for i in n:         for i_first in min(1, n):        body(i_first)
///   body(i)     =>    for i in min(1, n)..n:           body(i)
///
/// Gives the loops in their order. The loop that is left keeps its name and blocks, the others get
/// copies; where nothing is left, it ends.
Handles<LoopRV> commit_peel(Schedule& schedule, PeelPlan&& plan);

inline constexpr Primitive peel(PrimitiveDefinition{
    .name = "peel",
    .past = "peeled",
    .doc = "Takes the first or last iterations of a loop out of it. What is special in them, as a "
           "border is, is then decided outside of the loop.",
    .conditions = peel_conditions,
    .moves_accesses = true,
    .plan = plan_peel,
    .commit = commit_peel,
});

}  // namespace loopsmith
