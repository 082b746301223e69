// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/primitives/decompose_reduction.h"

namespace loopsmith {

struct HoistFactorArguments {
  BlockRV block;
  bool through_casts = false;

  static constexpr std::tuple parameters{
      Parameter{"block", &HoistFactorArguments::block},
      promise("through_casts", &HoistFactorArguments::through_casts,
              "Takes factors out of conversions to narrower floats, and of sums in float16, too: "
              "you know that what is left fits these.")};
};

struct HoistFactorPlan {
  BlockRV block;
  LoopRV outermost;  ///< Of the nest.
  Expr term;         ///< What is still summed up, in terms of the block's axes.
  /// What the sum becomes in the end; `sum` stands for it.
  Ptr<Var> sum;
  Expr result;
  std::optional<Argument> reordered_reduction = {};
};

inline constexpr Condition block_is_a_sum{
    "sum_has_a_factor",
    "block {} is no sum of floating-point numbers into one buffer that starts "
    "with 0 and reads nothing else of it",
    "name a block with an init of 0 and the update x = x + term"};
inline constexpr Condition terms_have_a_factor{
    "sum_has_a_factor", "the terms of block {} have no factor that is the same in all of a sum",
    "write them as products or quotients of which one operand reads no reduction axis"};
inline constexpr Condition sum_runs_unconditionally{
    "sum_has_a_factor", "which terms block {} adds up depends on a condition",
    "hoist the factor before the loops are split"};
inline constexpr ResultChange sum_fits_its_type{
    LegalityQuestion::regroup, false,
    "the sum of block {} may be too large for float16 without the factor",
    "sum up in float32, or pass through_casts=True if you know that it fits"};
inline constexpr const Condition* hoist_factor_conditions[] = {
    &block_is_a_sum, &terms_have_a_factor, &sum_runs_unconditionally, &step_keeps_results,
    &nest_is_of_block_alone};

Planned<HoistFactorPlan> plan_hoist_factor(const Schedule& schedule,
                                           const HoistFactorArguments& arguments);

/// for i, k:  C[i] += A[i, k] / d[i]   =>   for i, k:  C_sum[i] += A[i, k]
///                                          for i:     C[i] = C_sum[i] / d[i]
///
/// Gives the block that applies the factor, which keeps the name of the buffer; the sum is called
/// `C_sum`. Cannot fail.
BlockRV commit_hoist_factor(Schedule& schedule, HoistFactorPlan&& plan);

inline constexpr Primitive hoist_factor(PrimitiveDefinition{
    .name = "hoist_factor",
    .doc = "Multiplies or divides a sum by the factor that all of its terms have, in place of each "
           "term.",
    .conditions = hoist_factor_conditions,
    .plan = plan_hoist_factor,
    .commit = commit_hoist_factor,
});

}  // namespace loopsmith
