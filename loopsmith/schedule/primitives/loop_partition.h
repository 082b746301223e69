// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"
#include "loopsmith/schedule/primitives/split.h"
#include "loopsmith/schedule/queries/block_kinds.h"

namespace loopsmith {

struct LoopPartitionArguments {
  LoopRV loop;
  std::vector<Factor> factors;
  bool preserve_unit_iters = true;

  static constexpr std::tuple parameters{
      Parameter{"loop", &LoopPartitionArguments::loop},
      Parameter{"factors", &LoopPartitionArguments::factors,
                "How many iterations each part has; at most one is to be inferred: None, or -1. "
                "What they leave over is a last part."},
      Parameter{
          "preserve_unit_iters", &LoopPartitionArguments::preserve_unit_iters,
          "Whether axes stay bound to the loop of a part of one iteration; else they are bound "
          "to its value."}};
};

/// Iterations of the loop, counted from 0.
struct LoopPart {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<const Block*> going_on = {};  ///< Reductions that an earlier part has started.
};

struct LoopPartitionPlan {
  LoopRV loop;
  std::vector<LoopPart> parts;
  std::string block;  ///< The first one inside; empty where there is none.
  bool drops_units = false;
};

inline constexpr Condition loop_bounds_are_constant{
    "bounds_are_known", "the bounds of loop {} are not constants",
    "split it; lowering partitions loops whose conditions need it"};
inline constexpr Condition parts_fit_the_loop{"arguments_fit",
                                              "the parts have {} iterations, loop {} has {}",
                                              "let each part have one iteration or more"};
inline constexpr const Condition* loop_partition_conditions[] = {
    &loop_is_plain,      &loop_bounds_are_constant,   &factor_is_positive, &one_factor_is_inferred,
    &parts_fit_the_loop, &iterations_reach_their_end, &step_keeps_results};

Planned<LoopPartitionPlan> plan_loop_partition(const Schedule& schedule,
                                               const LoopPartitionArguments& arguments);

/// for i in 96:                  with T.block("B_i_common"):
///   with T.block("B"):            with T.block("B_i0_partition"):
///     B[vi] = A[vi]       =>        for i0 in 20:
///                                     with T.block("B_i0"): ...
///                                 with T.block("B_i1_partition"):
///                                   for i1 in range(20, 96):
///                                     with T.block("B_i1"): ...
///
/// A loop without blocks inside becomes loops alone. A reduction keeps its init in the part that
/// starts it; elsewhere it would never run, and the block reads what it updates.
Handles<LoopRV> commit_loop_partition(Schedule& schedule, LoopPartitionPlan&& plan);

inline constexpr Primitive loop_partition(PrimitiveDefinition{
    .name = "loop_partition",
    .past = "partitioned",
    .doc = "Cuts a loop into loops that follow each other, each over a part of the iterations.",
    .conditions = loop_partition_conditions,
    .required = 2,
    .plan = plan_loop_partition,
    .commit = commit_loop_partition,
});

}  // namespace loopsmith
