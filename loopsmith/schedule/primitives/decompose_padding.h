// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/decompose_reduction.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct DecomposePaddingArguments {
  BlockRV block;
  LoopRV loop;

  static constexpr std::tuple parameters{Parameter{"block", &DecomposePaddingArguments::block},
                                         Parameter{"loop", &DecomposePaddingArguments::loop,
                                                   "Before which the constant is filled in."}};
};

/// A loop that runs through what is in bounds alone, and its axis.
struct InBoundLoop {
  LoopRV loop;
  std::size_t axis;
  std::int64_t min;
  std::int64_t extent;
};

struct DecomposePaddingPlan {
  BlockRV block;
  LoopRV loop;
  std::vector<LoopRV> copied;          ///< The loops from `loop` inward, outermost first.
  std::vector<InBoundLoop> shortened;  ///< Of these, and of no other axis.
  Expr predicate;                      ///< What is left of the condition, in terms of axes.
  Expr value;                          ///< In bounds.
  Expr constant;                       ///< Elsewhere.
  std::optional<Preservation> preservation = {};
};

inline constexpr Condition body_pads{
    "body_pads", "block {} can not be matched to padding pattern, as {}",
    "let it store if_then_else(condition on axes, value, constant)"};
inline constexpr const Condition* decompose_padding_conditions[] = {
    &loop_is_around_block, &body_pads, &step_keeps_results};

Planned<DecomposePaddingPlan> plan_decompose_padding(const Schedule& schedule,
                                                     const DecomposePaddingArguments& arguments);

/// for i in 70:                                       for i in 70: Y[i] = 0
///   Y[i] = X[i - 3] if 3 <= i and i < 67 else 0  =>  for i in 64: Y[i + 3] = X[i]
///
/// Gives the block that fills in the constant. Cannot fail.
BlockRV commit_decompose_padding(Schedule& schedule, DecomposePaddingPlan&& plan);

inline constexpr Primitive decompose_padding(PrimitiveDefinition{
    .name = "decompose_padding",
    .past = "decomposed",
    .doc = "Divides a block that pads into one that fills in the constant and one that stores what "
           "is in bounds.",
    .conditions = decompose_padding_conditions,
    .required = 2,
    .plan = plan_decompose_padding,
    .commit = commit_decompose_padding,
});

}  // namespace loopsmith
