// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/rewrites/places.h"
#include "loopsmith/schedule/rewrites/producer_consumer_inlining.h"

namespace loopsmith {

struct FuseReductionEpilogueArguments {
  BlockRV reduction_block;
  BlockRV epilogue_block;

  static constexpr std::tuple parameters{
      Parameter{"reduction_block", &FuseReductionEpilogueArguments::reduction_block},
      Parameter{"epilogue_block", &FuseReductionEpilogueArguments::epilogue_block,
                "It combines each result of the reduction with another value."}};
};

struct FuseReductionEpiloguePlan {
  ProducerConsumerPair pair;
  Expr start;  ///< What the reduction starts from then, in terms of its axes.
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition epilogue_is_of_reduction{
    "block_is_an_epilogue", "block {} is not the epilogue of block {}",
    "pass the block that reads what the reduction writes"};
inline constexpr Condition epilogue_combines{
    "block_is_an_epilogue",
    "block {} does not combine the results of block {} as the reduction does, in their type",
    "an epilogue of a sum adds one value to each result, that of a maximum takes the larger, ..."};
inline constexpr const Condition* fuse_reduction_epilogue_conditions[] = {
    &block_is_not_root,    &block_is_complete,     &block_has_no_init, &body_is_one_store,
    &step_keeps_results,   &one_input_is_computed, &producer_is_alone, &epilogue_is_of_reduction,
    &reads_one_element,    &indices_tell_axes,     &epilogue_combines, &instances_are_known,
    &block_uses_axes_alone};

Planned<FuseReductionEpiloguePlan> plan_fuse_reduction_epilogue(
    const Schedule& schedule, const FuseReductionEpilogueArguments& arguments);

/// for i, k:                           for i, k:
///   if k == 0: B[i] = 0         =>      if k == 0: C[i] = D[i]
///   B[i] += A[i, k]                     C[i] += A[i, k]
/// for i: C[i] = B[i] + D[i]
///
/// The reduction starts from what the epilogue combined its results with. Cannot fail.
Nothing commit_fuse_reduction_epilogue(Schedule& schedule, FuseReductionEpiloguePlan&& plan);

inline constexpr Primitive fuse_reduction_epilogue(PrimitiveDefinition{
    .name = "fuse_reduction_epilogue",
    .past = "fused",
    .doc = "Lets a reduction start from what its epilogue combines its results with.",
    .conditions = fuse_reduction_epilogue_conditions,
    .required = 2,
    .plan = plan_fuse_reduction_epilogue,
    .commit = commit_fuse_reduction_epilogue,
});

}  // namespace loopsmith
