// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/legality/online_sums.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/primitives/merge_siblings.h"

namespace loopsmith {

struct MergeOnlineArguments {
  std::vector<LoopRV> loops;

  static constexpr std::tuple parameters{
      Parameter{"loops", &MergeOnlineArguments::loops,
                "Of one sequence of statements, in its order: that over the terms of the maximum, "
                "then those of values made of it, and those over the terms of sums."}};
};

struct MergeOnlinePlan {
  std::vector<LoopRV> loops;
  BlockRV maximum;
  OnlineSums sums;
  MergeSiblingsPlan merging;  ///< Of the loops, once the inits stand before them.
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition loop_is_of_one_block{
    "nest_is_perfect", "something else than loops and one block stands in loop {}",
    "give loops with one block each"};
inline constexpr Condition block_is_a_maximum{
    "maximum_has_the_form", "block {} is no maximum of floating-point numbers",
    "let the first loop be around a block with an init and the update x = T.max(x, term)"};
inline constexpr Condition loop_is_of_terms{
    "maximum_has_the_form", "loop {} is not over terms of block {} alone",
    "split the axes of the reduction apart from those of its results, and reorder"};
inline constexpr Condition values_scale_with_maximum{
    "maximum_has_the_form", "block {} does not scale with {}: {}",
    "write values as products with exp(x - maximum), x being what the maximum is of; compute "
    "others in place, and take quotients by other sums out with hoist_factor"};
inline constexpr ResultChange values_are_used_up{
    LegalityQuestion::leave_out, true, "{} is used by others than the iteration that makes it",
    "compute_inline it, or give the loops of all its readers, cut alike"};
inline constexpr const Condition* merge_online_conditions[] = {
    &loops_are_given,           &nests_follow_each_other,   &loop_is_plain,
    &loop_is_of_one_block,      &block_is_a_maximum,        &loop_is_of_terms,
    &values_scale_with_maximum, &step_keeps_results,        &block_is_reduction,
    &loop_is_above_reduction,   &siblings_have_one_step,    &bounds_read_no_memory,
    &nests_are_alike,           &iterations_reach_their_end};

Planned<MergeOnlinePlan> plan_merge_online(const Schedule& schedule,
                                           const MergeOnlineArguments& arguments);

/// for k:  m = max(m, x(k))            m = -inf;  s = 0
/// for k:  s += exp(x(k) - m) w(k) =>  for k:
///                                       before = m
///                                       m = max(m, x(k))
///                                       scale = exp(before - m)
///                                       s = s * scale
///                                       s += exp(x(k) - m) w(k)
///
/// The new blocks are called `m_before`, `m_scale`, and `s_rescale` for each sum; with loops inside
/// of k, sums are rescaled once for all of their iterations. Inits become blocks of their own.
/// Gives the loop. Cannot fail.
LoopRV commit_merge_online(Schedule& schedule, MergeOnlinePlan&& plan);

inline constexpr Primitive merge_online(PrimitiveDefinition{
    .name = "merge_online",
    .past = "merged",
    .doc = "Makes one loop of a maximum, and of sums of exp(x - maximum), alone or times "
           "something: sums are rescaled where the maximum changes (online softmax).",
    .conditions = merge_online_conditions,
    .plan = plan_merge_online,
    .commit = commit_merge_online,
});

}  // namespace loopsmith
