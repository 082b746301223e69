// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/arith/reducers.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct RfactorArguments {
  LoopRV loop;
  std::int64_t factor_axis = 0;

  static constexpr std::tuple parameters{
      Parameter{"loop", &RfactorArguments::loop, "A loop of a reduction."},
      Parameter{"factor_axis", &RfactorArguments::factor_axis,
                "Where the loop's dimension goes in the partial results; from the end if "
                "negative."}};
};

struct RfactorPlan {
  BlockRV block;
  LoopRV loop;
  std::size_t axis;
  KnownReduction reduction;
  std::vector<LoopRV> path;      ///< The loops around the block that get copies.
  std::vector<LoopRV> dropped;   ///< Those bound to the rest of the reduction.
  std::vector<Expr> conditions;  ///< Under which a partial result was computed.
  /// Under which the rest of the reduction starts, where there is something to reduce.
  std::vector<Expr> start_conditions = {};
  /// Under which a step has something to combine; else that is neutral.
  std::vector<Expr> masks = {};
  bool is_in_place = false;  ///< The block may read other results of its own.
  std::optional<Argument> reordered_reduction;
};

inline constexpr Condition loop_is_of_reduction{
    "loop_is_of_reduction", "loop {} is bound to no reduction axis of block {} alone",
    "choose a loop that the reduction, and no spatial axis, uses"};
inline constexpr Condition reducer_is_known{
    "reducer_is_known", "how block {} combines its elements is no known reducer",
    "write it as a sum, a product, min, max, all, any, argmin, argmax or a pair of sums, or say "
    "how in the block's annotation \"reducer\", a T.comm_reducer, as te.comm_reducer does"};
inline constexpr Condition nest_is_plain{
    "nest_is_plain", "partial results of block {} cannot be computed before loop {}, as {}",
    "let the loops around the reduction hold nothing before it, and nothing but it where they "
    "are bound to the reduction"};
inline constexpr const Condition* rfactor_conditions[] = {
    &nest_has_one_block, &block_is_not_root,    &block_is_reduction,
    &loop_is_serial,     &loop_is_of_reduction, &reducer_is_known,
    &number_is_in_range, &step_keeps_results,   &nest_is_plain};

Planned<RfactorPlan> plan_rfactor(const Schedule& schedule, const RfactorArguments& arguments);

/// for i, k:                  for i, k: C_rf[k, i] = A[i, k]
///   C[i] += A[i, k]    =>    for i, k: C[i] += C_rf[k, i]
///
/// Each iteration of the loop gets partial results of its own. Where a size decides which
/// iterations there are, the others combine what is neutral, so that all partial results are
/// computed. A reduction that reads other results of its own, as dynamic programming does, is
/// factored inside of its spatial loops. Cannot fail.
BlockRV commit_rfactor(Schedule& schedule, RfactorPlan&& plan);

inline constexpr Primitive rfactor(PrimitiveDefinition{
    .name = "rfactor",
    .past = "factored",
    .doc = "Makes a loop of a reduction spatial: it computes partial results, which a second block "
           "combines.",
    .conditions = rfactor_conditions,
    .required = 2,
    .plan = plan_rfactor,
    .commit = commit_rfactor,
});

}  // namespace loopsmith
