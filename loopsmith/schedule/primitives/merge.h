// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct MergeArguments {
  std::vector<LoopRV> loops;
  bool assume_independent = false;

  static constexpr std::tuple parameters{
      Parameter{"loops", &MergeArguments::loops,
                "One of each nest, in their order; loops around them are merged, too."},
      promise("assume_independent", &MergeArguments::assume_independent,
              "Takes an unknown dependence for none. A known one still refuses.")};
};

struct MergePlan {
  NodeId sequence = no_node;               ///< The statements among which the nests are.
  std::uint32_t first_slot = 0;            ///< Of the first nest; the others follow.
  std::vector<std::vector<LoopRV>> nests;  ///< Each outermost first.
};

inline constexpr Condition two_loops_are_given{
    "two_loops_are_given", "{} loop is given",
    "give at least two, of nests that follow each other"};
inline constexpr Condition nests_follow_each_other{
    "nests_follow_each_other", "the nest of loop {} does not follow that of loop {}",
    "give nests that stand one after another in the same loop or block, in their order"};
inline constexpr Condition nests_are_alike{"nests_are_alike",
                                           "the nests of loops {} and {} differ in depth or extent",
                                           "split or fuse one of them so that they agree"};
inline constexpr Condition iterations_run_to_their_end{
    "iterations_run_to_their_end", "a continue ends iterations of loop {} early",
    "rewrite the continue as a condition on the rest of the body"};
inline constexpr ResultChange merging_changes_order{
    LegalityQuestion::order, true, "loop {} needs what a later iteration of loop {} makes",
    "leave these loops apart, or use compute_at, which computes what is needed"};
inline constexpr ResultChange merging_is_unknown{
    LegalityQuestion::order, false, "whether loops {} and {} may become one is unknown, as {}",
    "if you know that they may, pass assume_independent=True"};
inline constexpr const Condition* merge_conditions[] = {
    &two_loops_are_given,   &nests_follow_each_other,
    &loop_is_plain,         &bounds_stay,
    &nests_are_alike,       &loop_runs_to_its_end,
    &step_keeps_results,    &iterations_run_to_their_end,
    &empty_reductions_start};

Planned<MergePlan> plan_merge(const Schedule& schedule, const MergeArguments& arguments);

/// for i in n:  a(i)        for i_m in n:
/// for j in n:  b(j)   =>     a(i_m)
///                            b(i_m)
LoopRV commit_merge(Schedule& schedule, MergePlan&& plan);

inline constexpr Primitive merge(PrimitiveDefinition{
    .name = "merge",
    .past = "merged",
    .doc = "Makes one nest of several that follow each other.",
    .conditions = merge_conditions,
    .moves_accesses = true,
    .plan = plan_merge,
    .commit = commit_merge,
});

}  // namespace loopsmith
