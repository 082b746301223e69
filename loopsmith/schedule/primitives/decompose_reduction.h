// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct DecomposeReductionArguments {
  BlockRV block;
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"block", &DecomposeReductionArguments::block},
      Parameter{"loop", &DecomposeReductionArguments::loop, "Before which the init goes."}};
};

struct DecomposeReductionPlan {
  BlockRV block;
  LoopRV loop;
  std::vector<LoopRV> copied = {};    ///< Loops of the init, outermost first.
  std::vector<Expr> conditions = {};  ///< Under which an instance is initialised.
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition loop_is_above_reduction{
    "loop_is_above_reduction",
    "loop {} is inside loop {}, which is bound to a reduction axis of block {}",
    "choose the outermost loop of the reduction, or one around it"};
inline constexpr const Condition* decompose_reduction_conditions[] = {
    &loop_is_around_block, &block_is_reduction, &loop_is_above_reduction, &step_keeps_results};

Planned<DecomposeReductionPlan> plan_decompose_reduction(
    const Schedule& schedule, const DecomposeReductionArguments& arguments);

/// for i:                            for i:
///   for k:                            C[i] = 0
///     if k == 0: C[i] = 0      =>     for k:
///     C[i] += A[i, k]                   C[i] += A[i, k]
///
/// The init becomes a block `C_init` of its own; what is left is called `C_update`. Cannot fail.
BlockRV commit_decompose_reduction(Schedule& schedule, DecomposeReductionPlan&& plan);

inline constexpr Primitive decompose_reduction(PrimitiveDefinition{
    .name = "decompose_reduction",
    .past = "decomposed",
    .doc = "Puts the init of a reduction into a block of its own, before a loop.",
    .conditions = decompose_reduction_conditions,
    .required = 2,
    .plan = plan_decompose_reduction,
    .commit = commit_decompose_reduction,
});

}  // namespace loopsmith
