// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/rfactor.h"
#include "loopsmith/schedule/primitives/split.h"

namespace loopsmith {

struct TreeReduceArguments {
  LoopRV loop;
  std::vector<Factor> factors;
  std::int64_t factor_axis = 0;

  static constexpr std::tuple parameters{
      Parameter{"loop", &TreeReduceArguments::loop, "A loop of a reduction."},
      Parameter{"factors", &TreeReduceArguments::factors,
                "How many results each level combines, the last level first; at most one is to be "
                "inferred: None, or -1."},
      Parameter{"factor_axis", &TreeReduceArguments::factor_axis,
                "Where each level's dimension goes in its partial results; from the end if "
                "negative."}};
};

struct TreeReducePlan {
  TreeReduceArguments arguments;
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition tree_has_levels{
    "arguments_fit", "{} factors make no tree of loop {}",
    "give two or more: [None, 8] combines 8 partial results, [None, 8, 4] has a level more"};
inline constexpr const Condition* tree_reduce_conditions[] = {&tree_has_levels,
                                                              &loop_is_plain,
                                                              &step_keeps_results,
                                                              &factor_is_positive,
                                                              &one_factor_is_inferred,
                                                              &factors_cover_the_loop,
                                                              &iterations_reach_their_end,
                                                              &nest_has_one_block,
                                                              &block_is_not_root,
                                                              &block_is_reduction,
                                                              &loop_is_serial,
                                                              &loop_is_of_reduction,
                                                              &reducer_is_known,
                                                              &number_is_in_range,
                                                              &nest_is_plain};

Planned<TreeReducePlan> plan_tree_reduce(const Schedule& schedule,
                                         const TreeReduceArguments& arguments);

/// With factors [None, 8, 4]:
///
/// for i, k in (n, 256):         for i, k_0, k_1, k_2 in (n, 8, 8, 4):
///   C[i] += A[i, k]        =>     C_rf_rf[k_1, k_0, i] += A[i, k_0 * 32 + k_1 * 4 + k_2]
///                               for i, k_0, k_1 in (n, 8, 8):  C_rf[k_0, i] += C_rf_rf[k_1, k_0,
///                               i] for i, k_0 in (n, 8):          C[i] += C_rf[k_0, i]
///
/// Gives the blocks of the levels, first the one that reads what is reduced, last the block itself.
Handles<BlockRV> commit_tree_reduce(Schedule& schedule, TreeReducePlan&& plan);

inline constexpr Primitive tree_reduce(PrimitiveDefinition{
    .name = "tree_reduce",
    .past = "factored",
    .doc = "Reduces in levels: splits a loop of a reduction, and gives each of the new loops but "
           "the innermost partial results of its own, which a block of the next level combines.",
    .conditions = tree_reduce_conditions,
    .required = 2,
    .plan = plan_tree_reduce,
    .commit = commit_tree_reduce,
});

}  // namespace loopsmith
