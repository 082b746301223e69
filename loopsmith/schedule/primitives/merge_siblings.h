// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/merge.h"

namespace loopsmith {

struct MergeSiblingsArguments {
  std::vector<LoopRV> loops;

  static constexpr std::tuple parameters{
      Parameter{"loops", &MergeSiblingsArguments::loops, "Of one sequence of statements."}};
};

struct MergeSiblingsPlan {
  NodeId sequence = no_node;
  std::vector<LoopRV> loops;         ///< In the order of the text.
  std::vector<std::uint32_t> order;  ///< The statements in their new order, as the law finds it.
  std::uint32_t first_slot = 0;      ///< Where the loops come to stand, one after another.
  Expr min;                          ///< Where the loops start once they run alike; null: they do.
  Expr extent;
};

inline constexpr ResultChange siblings_can_be_adjacent{
    LegalityQuestion::order, false,
    "`{}`, which stands between the loops, can go neither before nor after them",
    "merge loops with nothing in between that depends on both"};
inline constexpr Condition siblings_have_one_step{
    "nests_are_alike", "loops {} and {} start or end elsewhere and do not both have step 1",
    "split them, which counts their iterations"};
inline constexpr ResultChange extended_loops_start_nothing{
    LegalityQuestion::add, false,
    "loop {} would run over more values, and block {} starts its reduction in it",
    "use decompose_reduction first"};
inline constexpr const Condition* merge_siblings_conditions[] = {
    &loops_are_given,        &nests_follow_each_other,   &loop_is_plain,
    &siblings_have_one_step, &bounds_read_no_memory,     &step_keeps_results,
    &nests_are_alike,        &iterations_reach_their_end};

Planned<MergeSiblingsPlan> plan_merge_siblings(const Schedule& schedule,
                                               const MergeSiblingsArguments& arguments);

/// Puts the statements in their order, and lets the loops run over all of their values.
void arrange_siblings(Schedule& schedule, const MergeSiblingsPlan& plan);

/// for i in n:        a(i)         other
/// other                    =>     for i_m in n + 1:
/// for j in 1..n + 1: b(j)           if i_m < n:   a(i_m)
///                                   if 1 <= i_m:  b(i_m)
LoopRV commit_merge_siblings(Schedule& schedule, MergeSiblingsPlan&& plan);

inline constexpr Primitive merge_siblings(PrimitiveDefinition{
    .name = "merge_siblings",
    .past = "merged",
    .doc = "Makes one loop of several of a sequence, by their values: they may start and end "
           "elsewhere, and other statements may be in between. See `shift`.",
    .conditions = merge_siblings_conditions,
    .plan = plan_merge_siblings,
    .commit = commit_merge_siblings,
});

}  // namespace loopsmith
