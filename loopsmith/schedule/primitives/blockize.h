// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/rewrites/block_construction.h"

namespace loopsmith {

struct BlockizeArguments {
  LoopOrBlocks target;
  bool preserve_unit_iters = true;

  static constexpr std::tuple parameters{
      Parameter{"target", &BlockizeArguments::target,
                "A loop with one block inside, or blocks that follow each other."},
      Parameter{"preserve_unit_iters", &BlockizeArguments::preserve_unit_iters,
                "Keeps axes that have one value."}};
};

inline constexpr const Condition* blockize_conditions[] = {
    &nest_has_one_block, &nest_is_of_loops,         &space_is_divisible,
    &blocks_are_given,   &blocks_follow_each_other, &outer_axes_are_spatial,
    &block_is_not_root,  &block_is_reduction,       &step_keeps_results};

Planned<EnclosingBlock> plan_blockize(const Schedule& schedule, const BlockizeArguments& arguments);

/// for i_0, j_0, i_1, j_1:            for i_0, j_0:
///   block C: vi = i_0 * 16 + i_1       block C_o: vi_o = i_0, vj_o = j_0
///            vj = j_0 * 16 + j_1   =>    for i_1, j_1:
///                                          block C: vi_i = i_1, vj_i = j_1
///
/// The init of a reduction moves to the block around. Cannot fail.
BlockRV commit_blockize(Schedule& schedule, EnclosingBlock&& plan);

inline constexpr Primitive blockize(PrimitiveDefinition{
    .name = "blockize",
    .past = "blockized",
    .doc = "Makes a block of a loop and what is inside, or of blocks that follow each other.",
    .conditions = blockize_conditions,
    .plan = plan_blockize,
    .commit = commit_blockize,
});

}  // namespace loopsmith
