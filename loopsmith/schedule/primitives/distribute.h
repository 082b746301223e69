// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/primitive.h"

namespace loopsmith {

struct DistributeArguments {
  LoopRV loop;

  static constexpr std::tuple parameters{
      Parameter{"loop", &DistributeArguments::loop,
                "With several statements inside; other loops, conditions that read no memory, and "
                "blocks without an init or buffers of their own may be between."}};
};

struct DistributePlan {
  LoopRV loop;
  std::vector<NodeId> chain;  ///< The loop, and what stands between it and the statements.
  std::vector<Stmt> parts;    ///< The statements.
  std::vector<std::size_t>
      cuts;  ///< Those that start another loop: all that may, as the law finds.
};

inline constexpr Condition loop_has_statements{
    "statements_follow_each_other",
    "loop {} does not hold several statements that follow each other",
    "give a loop whose body, or that of the only loop, condition or block inside, is a sequence; "
    "use decompose_reduction first where the block has an init"};
inline constexpr const Condition* distribute_conditions[] = {
    &loop_is_plain, &step_keeps_results, &loop_has_statements, &iterations_reach_their_end};

Planned<DistributePlan> plan_distribute(const Schedule& schedule,
                                        const DistributeArguments& arguments);

/// for i in n:        for i in n:    a(i)
///   a(i)        =>   for i_1 in n:  b(i_1)
///   b(i)
///
/// Statements that need each other in later iterations stay together. A condition around them is
/// asked for each; a block around them becomes several. Gives the loops in the place of `loop`, in
/// their order; the first keeps its name, as does the first of the blocks.
Handles<LoopRV> commit_distribute(Schedule& schedule, DistributePlan&& plan);

inline constexpr Primitive distribute(PrimitiveDefinition{
    .name = "distribute",
    .past = "distributed",
    .doc = "Gives the statements in a loop loops of their own, wherever dependences allow to cut "
           "between them (loop fission).",
    .conditions = distribute_conditions,
    .plan = plan_distribute,
    .commit = commit_distribute,
});

}  // namespace loopsmith
