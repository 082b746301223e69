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
  std::vector<LoopRV> named;
  bool assume_independent = false;
  NodeId sequence = no_node;               ///< The statements among which the nests are.
  std::uint32_t first_slot = 0;            ///< Of the first nest; the others follow.
  std::vector<std::vector<LoopRV>> nests;  ///< Each outermost first.
};

inline constexpr Condition nests_follow_each_other{
    "statements_follow_each_other", "the nest of loop {} does not follow that of loop {}",
    "give nests that stand one after another in the same loop or block, in their order"};
inline constexpr Condition nests_are_alike{"nests_are_alike",
                                           "the nests of loops {} and {} differ in depth or extent",
                                           "split or fuse one of them so that they agree"};
inline constexpr const Condition* merge_conditions[] = {
    &loops_are_given,    &nests_follow_each_other, &loop_is_plain,
    &step_keeps_results, &nests_are_alike,         &iterations_reach_their_end};

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
    .plan = plan_merge,
    .commit = commit_merge,
});

}  // namespace loopsmith
